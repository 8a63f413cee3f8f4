"""The command `export`: a session, or the branch up to an entry, as HTML, Markdown, JSONL or JSON."""

from __future__ import annotations

import argparse
import os
import sys

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand, add_ref
from sessionbrowse.cli.references import find
from sessionbrowse.services.export.export import FORMATS, export, export_to
from sessionbrowse.text import clean


def run_export(arguments: argparse.Namespace) -> int:
    """Run `export`: write the document to stdout or to a new file."""
    located = find(arguments)
    pieces = export(located.path, located.agent, arguments.format, at=arguments.at, home=os.path.expanduser("~"))
    if arguments.output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        return 0
    target = os.path.abspath(os.path.expanduser(arguments.output))
    export_to(target, pieces, located.path)
    output.note(f"written: {clean(target)}")
    return 0


COMMANDS = {"export": run_export}


def add_arguments(add: AddCommand) -> None:
    """Add the command of this module, with its arguments."""
    if export_parser := add(
        "export", "Print a session, or the branch up to an entry, for people or programs.", json=False
    ):
        add_ref(export_parser)
        export_parser.add_argument("--format", choices=FORMATS, required=True, help="html is one file without requests")
        export_parser.add_argument("--at", metavar="ENTRY", help="only the path up to this entry")
        export_parser.add_argument(
            "-o", "--output", metavar="FILE", help="write to this new file instead of standard output"
        )
