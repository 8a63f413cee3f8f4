"""A change names a session's file where it really is; the browser goes on listing it as it was found, once."""

from __future__ import annotations

from pathlib import Path

from sessionbrowse.tui.changes.change_runner import Listed
from tests.support.live_support import until
from tests.support.session_files import answer
from tests.tui.shell.test_live import append, live_browser, session, store


def test_a_path_leads_to_where_the_browser_found_it_or_nowhere(tmp_path: Path) -> None:
    (tmp_path / "disk" / "store" / "p").mkdir(parents=True)
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "store")
    (tmp_path / "link" / "q").symlink_to(tmp_path / "far")
    root = f"{tmp_path}/link"
    known = f"{root}/q/known.jsonl"
    listed = Listed(lambda _: None, lambda: [known], [root])
    assert listed.at(f"{tmp_path}/disk/store/p/new.jsonl") == f"{root}/p/new.jsonl"
    assert listed.at(f"{root}/p/new.jsonl") == f"{root}/p/new.jsonl"
    assert listed.at(f"{tmp_path}/far/known.jsonl") == known, "a project's folder may be a link too"
    assert listed.at(f"{tmp_path}/disk/storehouse/x.jsonl") is None
    assert Listed(lambda _: None, list, []).at("/anywhere.jsonl") == "/anywhere.jsonl"


async def test_a_session_of_a_store_behind_a_link_stays_one_row_whatever_is_done_to_it(tmp_path: Path) -> None:
    root = store(tmp_path / "disk", 2)
    for number in range(2):
        # Those of one message only would be folded into one row.
        append(session(root, number), answer("b", "a", "so", number))
    (tmp_path / "link").symlink_to(root)
    async with live_browser(tmp_path / "link", tmp_path) as driven:
        listed = {str(session(tmp_path / "link", number)) for number in range(2)}

        def paths() -> set[str]:
            return {summary.path for summary in driven.app.library.all()}

        assert paths() == listed
        await driven.press("ctrl+r", *"new", "enter")
        assert 'Renamed to "new"' in driven.toasts()[-1]
        assert paths() == listed
        assert "new" in driven.rows("#sessions")[0]
        await driven.press("u")
        # The monitor may still tell of the name that it read before.
        await until(lambda: "question 1" in driven.rows("#sessions")[0])
        await driven.press("ctrl+d", "enter")
        assert len(paths()) == 1
        await driven.press("u")
        assert paths() == listed


async def test_an_undo_of_a_change_in_another_store_lists_nothing_of_it_here(tmp_path: Path) -> None:
    here, there = store(tmp_path / "here", 1), store(tmp_path / "there", 1)
    async with live_browser(there, tmp_path) as driven:
        await driven.press("ctrl+r", *"new", "enter")
        assert 'Renamed to "new"' in driven.toasts()[-1]
    async with live_browser(here, tmp_path) as driven:
        await driven.press("u")
        assert "Another run of sessionbrowse made this change." in driven.words("#dialog-text")
        assert "The browser does not list the changed session." in driven.words("#dialog-text")
        assert "new" in driven.words("#dialog-text")
        await driven.press("enter")
        assert "Undid the rename of" in driven.toasts()[-1]
        assert [summary.path for summary in driven.app.library.all()] == [str(session(here, 0))]
        assert "1 session " in driven.screen_text()
