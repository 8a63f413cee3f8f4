"""Open the browser in the terminal; when the user leaves it, end the processes that it started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessionbrowse.services.background.monitor_messages import FirstRows, MonitorEvent
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.paint.signals import EXIT_HANDLER

if TYPE_CHECKING:
    from sessionbrowse.services.background.channel import Channel

FAILED = 3
"""Exit status of `pick` after an error; 1 means that the user left without choosing."""


def run(
    options: BrowseOptions, monitor: Channel[MonitorEvent] | None = None, first_rows: FirstRows | None = None
) -> int:
    """Open the browser, wait until the user leaves it, and return the exit status.

    `monitor` is the process that scans the disk for sessions. `first_rows` are session rows that the previous run of
    the browser saved; the app paints them and then starts a monitor. If both are None, a thread scans the disk.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    EXIT_HANDLER.before_end(_kill_programs)
    try:
        source = options.source
        if source is None and (options.roots or options.agents):
            # Check the roots and agents of the command line now: errors must be printed before the browser opens.
            from sessionbrowse.tui.data.sources import source_of

            source = source_of(options)
        app = BrowseApp(options, source, monitor, first_rows)
        EXIT_HANDLER.before_end(app.remove_demo)
        EXIT_HANDLER.before_end(app.temporary_copies.remove_all)
        try:
            app.run()
        finally:
            app.remove_demo()
            app.temporary_copies.remove_all()
        if app.return_code == 1 and app.return_value is None and options.pick is not None:
            return FAILED
        return app.return_code or 0
    finally:
        _kill_programs()


def _kill_programs() -> None:
    # Imported late, because the first rows on screen need no other program.
    from sessionbrowse.services.background.channel import kill_programs

    kill_programs()
