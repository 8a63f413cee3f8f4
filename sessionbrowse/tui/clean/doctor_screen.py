"""The doctor screen, which lists damage in session files and offers remedies; the commands that open it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.clean.damage import NO_DAMAGE, Damage
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.clean.clean import Cleaned, Where
from sessionbrowse.services.clean.doctor import examine, repair
from sessionbrowse.services.transaction.change_context import Progress
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.changes.checkout import check_out
from sessionbrowse.tui.changes.delete import do_delete
from sessionbrowse.tui.changes.relocate import do_relocate
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.clean.cleanup_screen import CleanupScreen
from sessionbrowse.tui.clean.findings_screen import FindingsScreen
from sessionbrowse.tui.commands.command import DOCTOR, CommandContext
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.lists.rows import session_title
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.paint.spans import Line, agent_span, fit, one_line, pad
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun, count_done, session_items, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

_KIND_CELLS = 20
_MENDS = {"repair": "repair", "checkout": "check out the newest message", "relocate": "relocate", "delete": "delete"}


class Finding(Struct, frozen=True):
    """A mistake in a session file. If the file cannot be read, `damage` is None and `reason` is the error.

    `count` is the number of mistakes of this kind in the session, if the row stands for all of them.
    """

    summary: Summary
    number: int
    damage: Damage | None
    reason: str
    count: int = 1

    @property
    def kind(self) -> str:
        """The kind of damage, such as `torn-line`; `unreadable` if the file cannot be read."""
        return self.damage.kind if self.damage is not None else "unreadable"

    @property
    def can_do(self) -> tuple[str, ...]:
        """The remedies for the damage: `repair`, `checkout`, `relocate`, `delete`; empty if there is none."""
        return self.damage.can_do if self.damage is not None else ()


def findings_of(summary: Summary, *, is_one: bool) -> list[Finding]:
    """Search a session file for mistakes, and return one finding for each; a single finding if it cannot be read.

    For the list of several sessions (not `is_one`) a finding stands for all mistakes of its kind in the session, and a
    missing working directory is left out: it does not damage the file, and a store copied from another machine would
    have such a row for each session.
    """
    examined = examine(summary.path, summary.agent)
    if examined.unreadable is not None:
        return [Finding(summary, 0, None, examined.unreadable)]
    if is_one:
        return [Finding(summary, number, damage, damage.reason) for number, damage in enumerate(examined.damage)]
    counts = Counter(damage.kind for damage in examined.damage if damage.kind != "missing-directory")
    first = {damage.kind: damage for damage in reversed(examined.damage)}
    return [
        Finding(summary, number, first[kind], first[kind].reason, count)
        for number, (kind, count) in enumerate(counts.items())
    ]


class DoctorScreen(FindingsScreen[Finding]):
    """The screen that lists the damage of one session or of several sessions."""

    CONTEXTS = (DOCTOR,)
    HEADING = "Problems · damage"

    def __init__(self, summaries: Sequence[Summary], findings: Sequence[Finding] | None = None) -> None:
        """Show the findings of one session, or without `findings` examine the sessions and show what is found."""
        super().__init__(findings or [], name="doctor")
        self._is_one = findings is not None
        self._summaries = summaries
        self._examined: set[str] = set()
        self._changed: dict[str, Summary] = {}

    def on_mount(self) -> None:
        """Examine the sessions if that was not done yet."""
        if not self._is_one:
            self.search(self._examine)

    def _examine(self, job: Job, progress: Progress, damaged: list[Finding]) -> list[Finding]:
        """Examine all sessions for damage. For background threads.

        Sessions whose findings are no damage, such as entries that a newer agent wrote, come last.
        """
        sound: list[Finding] = []
        for number, summary in enumerate(self._summaries):
            if job.cancelled():
                break
            progress(number, len(self._summaries), summary.path)
            findings = findings_of(summary, is_one=False)
            (sound if all(one.kind in NO_DAMAGE for one in findings) else damaged).extend(findings)
        return damaged + sound

    @property
    def nothing(self) -> str:
        """The sentence that the list shows if no session is damaged."""
        key = self.browser.keys.key_of("other_problems")
        return f"No damage in {plural(len(self._summaries), 'session')}. {key} shows what could go."

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Replace the findings in the list; sessions that had one are examined again when they change."""
        self._examined |= {one.summary.path for one in findings}
        super().show_findings(findings)

    def key_of(self, finding: Finding) -> Hashable:
        """Return the key of a finding: the path of the session and the number of the finding in that session."""
        return finding.summary.path, finding.number

    def session_of(self, finding: Finding) -> Summary:
        """Return the summary of the session that has the damage."""
        return finding.summary

    def row_of(self, finding: Finding, width: int) -> Line:
        """Return the screen row of a finding: kind, session (if several were examined), line number and reason."""
        roles = "error" if "repair" in finding.can_do or finding.damage is None else "warning"
        kind = finding.kind if finding.count == 1 else f"{finding.kind} ×{finding.count:,}"
        line: Line = [*pad([(kind, roles)], _KIND_CELLS), ("  ", "")]
        if not self._is_one:
            title: Line = [agent_span(finding.summary.agent), (" ", ""), *session_title(finding.summary)]
            line += [*pad(title, max(20, width // 3)), ("  ", "")]
        if finding.damage is not None:
            line += [*pad([(f"line {finding.damage.line:,}", "dim")], 9), (" ", "")]
        return fit([*line, (one_line(finding.reason), "")], width)

    def parts_of(self, finding: Finding) -> Sequence[Part]:
        """Return the lines of the details pane: reason, remedies, line and byte in the file, effect on the agent."""
        damage = finding.damage
        more = f" And {finding.count - 1:,} more of this kind in the session." if finding.count > 1 else ""
        parts: list[Part] = [LinePart([(f"{clean(finding.reason)}{more}", "")])]
        if finding.can_do:
            mends = " or ".join(_MENDS[one] for one in finding.can_do)
            parts.append(LinePart([(f"{self.browser.keys.key_of('mend')}: {mends}", "accent")]))
        else:
            parts.append(LinePart([("This damage needs no repair, or cannot be repaired.", "dim")]))
        if damage is not None:
            place = f"line {damage.line:,}, byte {damage.offset:,}"
            parts.append(LinePart([(f"{place}; {clean(damage.agent_does)}.", "dim")]))
        return [*parts, self.path_part(finding.summary.path)]

    def amount(self, sessions: Sequence[Summary]) -> str:
        """Return the text of the header: the number of findings, and the session's title or the number of sessions."""
        where = one_line(sessions[0].title, 40) if self._is_one and sessions else plural(len(sessions), "session")
        return f"{plural(len(self.findings), 'finding')} in {where}"

    @property
    def entry_id(self) -> str | None:
        """The id of the damaged entry under the cursor; None if the damage concerns no entry."""
        finding = self.finding
        return finding.damage.entry_id if finding is not None and finding.damage is not None else None

    def command_context(self) -> CommandContext:
        """Return the screen's state, from which each command decides whether it is available."""
        can_mend = any(one.can_do for one in self.chosen_findings)
        return replace(super().command_context(), can_mend=can_mend)

    # -- changes on the disk ------------------------------------------------------------------------------------

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Search changed sessions for damage again, and remove the findings of deleted sessions."""
        if updates.gone:
            self.show_findings([one for one in self.findings if one.summary.path not in updates.gone])
        self._changed |= {one.path: one for one in updates.summaries if one.path in self._examined}
        if self._changed:
            changed, is_one = list(self._changed.values()), self._is_one

            def work(job: Job) -> dict[str, list[Finding]]:
                return {one.path: findings_of(one, is_one=is_one) for one in changed}

            self.lane("doctor", self._receive).ask(work)

    def _receive(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self.browser.say(outcome.sentence, "error")
            return
        again: dict[str, list[Finding]] = outcome.value
        self._changed = {path: one for path, one in self._changed.items() if path not in again}
        known = dict.fromkeys(one.summary.path for one in self.findings)
        by_path = {path: [one for one in self.findings if one.summary.path == path] for path in known} | again
        self.show_findings([one for findings in by_path.values() for one in findings])

    # -- remedies -----------------------------------------------------------------------------------------------

    def do_mend(self) -> None:
        """Ask for a remedy of the chosen damage (repair, check out, relocate or delete), and run it."""
        chosen = [one for one in self.chosen_findings if one.can_do]
        broken = self.sessions_of([one for one in chosen if "repair" in one.can_do])
        at_cursor = self.finding.can_do if self.finding is not None else ()
        choices = []
        if broken:
            in_place = partial(self._repair, broken)
            choices.append(Choice("repair", "Repair in place", "original moves to trash", do=in_place))
        if len(broken) == 1:
            copy = partial(ask_for_file, self, broken[0], "Repaired copy", lambda to: self._repair(broken, to))
            choices.append(Choice("copy", "Write a repaired copy …", do=copy))
        if "checkout" in at_cursor and self.subject is not None and self.entry_id is not None:
            newest = partial(check_out, self, self.subject, self.entry_id)
            choices.append(Choice("checkout", "Check out the newest message", do=newest))
        if "relocate" in at_cursor:
            choices.append(Choice("relocate", "Relocate the project …", do=lambda: do_relocate(self)))
        if "delete" in at_cursor:
            choices.append(Choice("delete", "Delete …", do=lambda: do_delete(self)))
        parts = session_parts(broken or self.sessions_of(chosen), self.browser.home)
        ask(self.browser, "Mend", parts, [*choices, CANCEL])

    def _repair(self, sessions: Sequence[Summary], to: str | None = None) -> None:
        changes, where = self.browser.changes, Where(to=to)

        def make(target: Target, run: ChangeRun) -> Cleaned:
            return repair(target, where, force=run.force, context=run.context, group=run.group)

        def describe(done: Sequence[Cleaned]) -> str:
            what = count_done(done, sessions)
            if to is not None:
                return f"Wrote a repaired copy of {what} to {clean(shorten_home(done[0].to or '', self.browser.home))}."
            return f"Repaired {what}; the original is in the trash."

        items = session_items(changes, sessions, make)
        changes.make(ChangePlan(title="Repairing", items=items, describe=describe))


def do_cleanup(screen: BrowseScreen) -> None:
    """Open the clean-up screen: the sessions that could be deleted, each with the reason."""
    screen.browser.push_screen(CleanupScreen())


def do_other_problems(screen: CommandScreen[None]) -> None:
    """Switch from the list of damaged sessions to the list of sessions to clean up, or back."""
    below = screen.app.screen_stack[-2]
    if isinstance(below, DoctorScreen | CleanupScreen):
        screen.dismiss(None)
    elif isinstance(screen, DoctorScreen):
        screen.browser.push_screen(CleanupScreen())
    else:
        screen.browser.push_screen(DoctorScreen(_here(screen)))


def do_problems(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the open session, or of the selected sessions; without a selection, of all sessions."""
    if isinstance(screen, BrowseScreen) and not screen.sessions_list.marks:
        screen.browser.push_screen(DoctorScreen(_here(screen)))
    else:
        do_mend(screen)


def _here(screen: CommandScreen[None]) -> list[Summary]:
    """Return the sessions of this machine; sessions of other machines must be repaired there."""
    return [one for one in screen.browser.library.all() if one.machine is None]


def do_mend(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the chosen sessions, to repair them."""
    if len(screen.chosen) == 1:
        _examine_one(screen.browser, screen.chosen[0])
    else:
        screen.browser.push_screen(DoctorScreen(screen.chosen))


def _examine_one(browser: Browser, summary: Summary) -> None:
    def show(findings: list[Finding]) -> None:
        if findings:
            browser.push_screen(DoctorScreen([summary], findings))
        else:
            browser.say("No damage found in this session.")

    browser.changes.run(lambda run: findings_of(summary, is_one=True), show)
