"""Open the browser in the terminal, and end all that it started when the user leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessionbrowse.services.background.monitor_messages import FirstRows, MonitorEvent
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.data.options import BrowseOptions

if TYPE_CHECKING:
    from sessionbrowse.services.background.channel import Channel


def run(
    options: BrowseOptions, monitor: Channel[MonitorEvent] | None = None, first_rows: FirstRows | None = None
) -> int:
    """Open the browser, wait until the user leaves it, and return the exit status.

    `monitor` reads the disk for it; without one a thread does. With `first_rows` a monitor is started after the first
    paint.

    Raises:
        NotFound: a root is no directory, or an agent none of the four.
    """
    source = options.source
    if source is None and (options.roots or options.agents):
        # What was typed is looked at before the terminal is taken; the agents' own places are right anyway.
        from sessionbrowse.tui.data.sources import source_of

        source = source_of(options)
    app = BrowseApp(options, source, monitor, first_rows)
    try:
        app.run()
        return app.return_code or 0
    finally:
        if app.monitor is not None:
            app.monitor.kill()
        if "pattern_worker" in app.__dict__:
            app.pattern_worker.close()
        app.remove_demo()
        app.temporary_copies.remove_all()
