"""Entry point of the background programs: `python -m sessionbrowse.services.background DESCRIPTOR JOB`.

DESCRIPTOR is the file descriptor of this program's end of the channel to the browser. Each job imports only the modules
that it needs.
"""

from __future__ import annotations

import sys

from sessionbrowse.services.background.channel import inherited


def main(arguments: list[str]) -> None:
    """Run the job that the second argument names, until the browser closes its end of the channel or exits."""
    match arguments[1]:
        case "monitor":
            from sessionbrowse.services.background.disk_monitor import run_monitor
            from sessionbrowse.services.background.monitor_messages import MonitorRequest

            run_monitor(inherited(arguments, MonitorRequest))
        case "search":
            from sessionbrowse.services.background.search_messages import SearchRequest
            from sessionbrowse.services.background.search_server import run_search

            run_search(inherited(arguments, SearchRequest))
        case "index":
            from sessionbrowse.services.background.disk_monitor import IndexFiles, run_indexer

            run_indexer(inherited(arguments, IndexFiles))
        case "pattern":
            from sessionbrowse.services.background.pattern_worker import PatternQuestion, answer_questions

            answer_questions(inherited(arguments, PatternQuestion), float(arguments[2]))
        case "usage":
            from sessionbrowse.services.background.monitor_messages import BrowserScope
            from sessionbrowse.services.background.usage_program import answer_usage_questions
            from sessionbrowse.services.usage.question import UsageQuestion

            answer_usage_questions(inherited(arguments, BrowserScope | UsageQuestion))


if __name__ == "__main__":
    main(sys.argv[1:])
