"""What each command does: gather, ask a service, print. Decides nothing about sessions itself."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.cli import output
from sessionbrowse.config import INDEX_FILE, Settings, cache_dir, load_settings
from sessionbrowse.model.picker import fields_of, parse_query, score
from sessionbrowse.model.summary import Summary
from sessionbrowse.services import catalog, listing
from sessionbrowse.store.directories import exists_many
from sessionbrowse.store.discover import Skipped
from sessionbrowse.store.roots import real_surroundings
from sessionbrowse.text import clean

if TYPE_CHECKING:
    from sessionbrowse.model.session import Session
    from sessionbrowse.services.overview import Overview
    from sessionbrowse.store.index.overview import Brief


_NOTING_SECONDS = 0.3


def run_list(arguments: argparse.Namespace) -> int:
    """`list`: every session, or those a query finds in names, ids, directories and what was said."""
    scope = _scope(arguments, hidden=arguments.hidden)
    cwd = os.path.abspath(arguments.cwd) if arguments.cwd is not None else None
    text = " ".join(arguments.query)
    query = parse_query(text)
    found: dict[str, str] = {}
    cut: dict[str, tuple[int, int]] = {}
    note = output.noting_once()
    quick = _newest(scope, arguments, cwd, note) if query.is_empty and arguments.sort in (None, "recent") else None
    if quick is not None:
        summaries, cut = quick
    elif query.is_empty:
        summaries, cut = _summaries(scope, note)
    else:

        def matches(summary: Summary, said: str) -> bool:
            fits = score(query, fields_of(summary, said)) is not None
            if fits:
                found[summary.path] = said
            return fits

        summaries = catalog.all_summaries_with_texts(scope, matches, skipped=_warn)
    chosen = listing.select(
        summaries,
        query=text,
        cwd=cwd,
        named=arguments.named,
        sort=arguments.sort or ("recent" if query.is_empty else "relevance"),
        limit=arguments.limit,
        texts=found,
    )
    if arguments.json:
        if cut:
            from sessionbrowse.services.indexed import with_first_messages

            chosen = with_first_messages(chosen, cut)
        output.print_json_list(map(listing.summary_document, chosen))
    else:
        output.print_sessions(chosen, home=scope.around.home)
    return 0


def run_projects(arguments: argparse.Namespace) -> int:
    """`projects`: directories are asked for off the main thread, with a limit in time."""
    scope = _scope(arguments)
    sessions: Sequence[Summary | Brief] | None = None
    note = output.noting_once()
    if os.path.exists(cache_dir() / INDEX_FILE):
        from sessionbrowse.services.overview import sessions_in_brief

        sessions = sessions_in_brief(scope, cache_dir(), skipped=_warn, note=note)
    if sessions is None:
        sessions = _summaries(scope, note)[0]
    exists = exists_many({session.cwd for session in sessions if session.cwd})
    documents = listing.project_documents(sessions, exists)
    if arguments.json:
        output.print_json(documents)
    else:
        output.print_projects(documents, home=scope.around.home)
    _note_projects(path for path, there in exists.items() if there)
    return 0


def _note_projects(directories: Iterable[str]) -> None:
    """Note what tells these repositories, for the day when one is moved; the answer is printed already."""
    from sessionbrowse.services.relocate import note_projects

    sys.stdout.flush()
    until = time.monotonic() + _NOTING_SECONDS
    note_projects(directories, cancelled=lambda: time.monotonic() > until, git_seconds=_NOTING_SECONDS)


def run_show(arguments: argparse.Namespace) -> int:
    """`show`: header, entries, branches, labels and problems of one file."""
    from sessionbrowse.services import inspect

    document = inspect.show_document(_open(arguments))
    if arguments.json:
        output.print_json(document)
    else:
        output.print_show(document)
    return 0


def run_tree(arguments: argparse.Namespace) -> int:
    """`tree`: the agent's own rows."""
    from sessionbrowse.services import inspect

    session = _open(arguments)
    home = real_surroundings().home
    if arguments.json:
        output.print_json(inspect.tree_document(session, arguments.filter, home))
    else:
        output.print_tree(session, arguments.filter, home)
    return 0


def run_context(arguments: argparse.Namespace) -> int:
    """`context`: messages, and why the other entries of the path are not among them."""
    from sessionbrowse.services import inspect

    session = _open(arguments)
    at = inspect.find_entry(session, arguments.at) if arguments.at is not None else None
    document = inspect.context_document(session, at)
    if arguments.json:
        output.print_json(document)
    else:
        output.print_context(document)
    return 0


def run_diff(arguments: argparse.Namespace) -> int:
    """`diff`: two branches of one session from their last common entry on."""
    from sessionbrowse.services import compare, inspect

    session = _open(arguments)
    left, right = (inspect.find_entry(session, reference) for reference in (arguments.left, arguments.right))
    document = compare.compare_document(session, compare.compare(session, left, right), real_surroundings().home)
    if arguments.json:
        output.print_json(document)
    else:
        output.print_comparison(document)
    return 0


def run_labels(arguments: argparse.Namespace) -> int:
    """`labels`: only files that have labels are opened a second time."""
    from sessionbrowse.services import inspect
    from sessionbrowse.store.session_file import open_session

    scope = _scope(arguments)
    labelled = [summary for summary in _summaries(scope)[0] if summary.label_count]
    documents = [
        document
        for summary in labelled
        for document in inspect.label_documents(open_session(summary.path, summary.agent), scope.around.home)
    ]
    documents.sort(key=lambda document: str(document["time"] or ""), reverse=True)
    if arguments.json:
        output.print_json(documents)
    else:
        output.print_labels(documents, home=scope.around.home)
    return 0


def run_resume(arguments: argparse.Namespace) -> int:
    """`resume`: find the session, then hand the terminal to its agent."""
    from sessionbrowse.cli import resume_command

    return resume_command.run_resume(arguments, _find(arguments))


def run_index(arguments: argparse.Namespace) -> int:
    """`index`: make it current, or anew, or away with it."""
    from sessionbrowse.cli import search_commands

    return search_commands.run_index(arguments, _scope(arguments, hidden=True, archived=True), _settings())


def run_search(arguments: argparse.Namespace) -> int:
    """`search`: entries in every branch of every session."""
    from sessionbrowse.cli import search_commands

    settings = _settings()
    return search_commands.run_search(arguments, _scope(arguments, hidden=True, archived=True), settings)


def run_change(arguments: argparse.Namespace) -> int:
    """`rename`, `label`, `checkout`: find the session, then change it."""
    from sessionbrowse.cli import changes

    run = {"rename": changes.run_rename, "label": changes.run_label, "checkout": changes.run_checkout}
    return run[arguments.command](arguments, _find(arguments))


def run_fork(arguments: argparse.Namespace) -> int:
    """`fork`: find the session, then make another of it."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_fork(arguments, _find(arguments))


def run_delete(arguments: argparse.Namespace) -> int:
    """`delete`: find all sessions, then move them to the trash."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_delete(arguments, _find_all(arguments), _scope(arguments, hidden=True, archived=True))


def run_restore(arguments: argparse.Namespace) -> int:
    """`restore`: from the trash, by the journal."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_restore(arguments)


def run_archive(arguments: argparse.Namespace) -> int:
    """`archive`, `unarchive`: find all sessions, then move them."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_archive(arguments, _find_all(arguments))


def run_relocate(arguments: argparse.Namespace) -> int:
    """`relocate`: all sessions of a directory."""
    from sessionbrowse.cli import file_commands

    return file_commands.run_relocate(arguments, _scope(arguments, hidden=True, archived=True))


def run_undo(arguments: argparse.Namespace) -> int:
    """`undo`: from the journal, whatever the session's file is."""
    from sessionbrowse.cli import changes

    return changes.run_undo(arguments)


def run_config(arguments: argparse.Namespace) -> int:
    """`config`: settings, and an example of them."""
    from sessionbrowse.cli import settings_commands

    return settings_commands.run_config(arguments)


def run_completion(arguments: argparse.Namespace) -> int:
    """`completion`: a script for the shell."""
    from sessionbrowse.cli import settings_commands

    return settings_commands.run_completion(arguments)


def _scope(arguments: argparse.Namespace, *, hidden: bool = False, archived: bool = False) -> catalog.Scope:
    return catalog.Scope(
        around=real_surroundings(),
        roots=tuple(arguments.roots or ()),
        extra_roots=_settings().roots,
        agents=tuple(arguments.agents or ()),
        hidden=hidden,
        archived=archived,
    )


def _summaries(
    scope: catalog.Scope, note: Callable[[str], None] = output.note
) -> tuple[list[Summary], dict[str, tuple[int, int]]]:
    """The sessions of a scope, by the index where there is one; and where first messages stand that it has cut."""
    directory = cache_dir()
    if not os.path.exists(directory / INDEX_FILE):
        return catalog.all_summaries(scope, skipped=_warn, parallel=True), {}
    from sessionbrowse.services import indexed

    found = indexed.all_sessions(scope, directory, skipped=_warn, note=note, may_fork=True)
    return found.summaries, found.cut


def _newest(
    scope: catalog.Scope, arguments: argparse.Namespace, cwd: str | None, note: Callable[[str], None]
) -> tuple[list[Summary], dict[str, tuple[int, int]]] | None:
    """What the list shows of the newest sessions, unpacked only as far as it is shown; None without an index."""
    directory = cache_dir()
    if not os.path.exists(directory / INDEX_FILE):
        return None
    from sessionbrowse.services.overview import newest_sessions

    def choose(found: Overview) -> Sequence[Brief]:
        # The arguments live as long as the program: taking ten thousand sessions apart takes longer than to print.
        arguments.found = found
        return listing.newest(found.briefs, cwd=cwd, named=arguments.named, limit=arguments.limit)

    return newest_sessions(
        scope,
        directory,
        choose,
        skipped=_warn,
        note=note,
    )


def _settings() -> Settings:
    loaded = load_settings()
    for problem in loaded.problems:
        output.note(problem)
    return loaded.settings


def _find(arguments: argparse.Namespace) -> catalog.Located:
    """The file that REF names, whose it is, and the place that leads to it."""
    return catalog.locate(arguments.ref, _scope(arguments))


def _find_all(arguments: argparse.Namespace) -> list[catalog.Located]:
    """What every REF names; nothing is changed if one of them names nothing."""
    scope = _scope(arguments)
    return [catalog.locate(reference, scope) for reference in arguments.refs]


def _open(arguments: argparse.Namespace) -> Session:
    from sessionbrowse.store.session_file import open_session

    located = _find(arguments)
    return open_session(located.path, located.agent)


def _warn(skipped: Skipped) -> None:
    output.note(f"{clean(skipped.path)}: {skipped.reason}")


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": run_list,
    "projects": run_projects,
    "show": run_show,
    "tree": run_tree,
    "context": run_context,
    "diff": run_diff,
    "labels": run_labels,
    "resume": run_resume,
    "config": run_config,
    "completion": run_completion,
    "index": run_index,
    "search": run_search,
    "rename": run_change,
    "label": run_change,
    "checkout": run_change,
    "fork": run_fork,
    "delete": run_delete,
    "restore": run_restore,
    "archive": run_archive,
    "unarchive": run_archive,
    "relocate": run_relocate,
    "undo": run_undo,
}
