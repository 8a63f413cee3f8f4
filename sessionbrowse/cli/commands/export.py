"""The commands that make sessions fit to share: `export` writes a document, `redact` writes a masked copy."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from sessionbrowse.cli import output
from sessionbrowse.cli.commands.change import changing_session, say
from sessionbrowse.cli.parser import AddCommand, add_copy_options, add_ref
from sessionbrowse.cli.references import find, find_target
from sessionbrowse.config import cache_dir, load_settings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.redact import Review, Suspect, context_of, redact, review_secrets
from sessionbrowse.services.clean.secret_detector import SecretDetector, detector_with
from sessionbrowse.services.export.export import FORMATS, export, export_redacted, export_to, proposed_name
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, plural


def run_export(arguments: argparse.Namespace) -> int:
    """Run `export`: write the document to stdout or to a new file."""
    located = find(arguments)
    pieces = _pieces(arguments, Target(located.path, located.agent))
    if arguments.output is None:
        output.print_pieces(pieces)
        return 0
    target = os.path.abspath(os.path.expanduser(arguments.output))
    if os.path.isdir(target):
        title = open_session(located.path, located.agent).name or os.path.basename(located.path).partition(".")[0]
        target = os.path.join(target, proposed_name(title, arguments.format))
    export_to(target, pieces, located.path)
    output.note(f"written: {clean(target)}")
    return 0


def _pieces(arguments: argparse.Namespace, target: Target) -> Iterator[bytes]:
    home = os.path.expanduser("~")
    if not arguments.redact:
        return export(target.path, target.agent, arguments.format, at=arguments.at, home=home)
    review = review_secrets(target, _detector())
    kept = _kept(review, arguments.yes)
    return export_redacted(
        target, arguments.format, review, lambda suspect: suspect not in kept, at=arguments.at, home=home
    )


def run_redact(arguments: argparse.Namespace) -> int:
    """Run `redact`: list the secrets and names found, ask which ones to mask, and write the masked copy."""
    target = find_target(arguments)
    review = review_secrets(target, _detector())
    kept = _kept(review, arguments.yes or arguments.dry_run)
    with changing_session():
        done = redact(
            target,
            review,
            lambda suspect: suspect not in kept,
            Where(to=arguments.to, new_id=arguments.new_id),
            dry_run=arguments.dry_run,
        )
    masked = sum(count for _, count in done.masks)
    found = plural(masked, "secret or name", "secrets and names")
    say(arguments, done, f"{'would mask' if done.dry_run else 'masked'} {found}: {clean(done.to or '')}")
    return 0


def _detector() -> SecretDetector:
    loaded = load_settings()
    return detector_with(loaded.settings.redact_patterns, loaded.problems, str(cache_dir()))


def _row(suspect: Suspect) -> str:
    """Return one line about a suspected secret: its replacement, count and line, and the text around the secret."""
    return f"{suspect.mask.text}  {suspect.count}×  line {suspect.line}  {context_of(suspect)}"


def _kept(review: Review, everything: bool) -> tuple[Suspect, ...]:
    """Ask the user about each suspected secret, unless `everything` is masked; return the secrets to keep unmasked.

    Raises:
        RefusedWrite: there is no terminal to ask on, or the user quit before the last question.
    """
    if not review.suspects:
        return ()
    asks = not everything and output.can_ask()
    for suspect in () if asks else review.suspects:
        output.note(_row(suspect))
    if everything:
        return ()
    if not asks:
        raise RefusedWrite("Nothing was written. Without a terminal to review on, add --yes to mask everything.")
    kept = []
    for number, suspect in enumerate(review.suspects, 1):
        answer = ""
        while answer not in ("m", "k", "a"):
            sys.stderr.write(f"{number}/{len(review.suspects)} {_row(suspect)}\nmask, keep, all the rest? [m/k/a/q] ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            answer = line.strip().casefold()[:1]
            if not line or answer == "q":
                raise RefusedWrite("The review was not finished. Nothing was written.")
        if answer == "a":
            break
        if answer == "k":
            kept.append(suspect)
    return tuple(kept)


COMMANDS = {"export": run_export, "redact": run_redact}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if export_parser := add(
        "export", "Print a session, or its branch up to one entry, as HTML, Markdown or JSON", json=False
    ):
        add_ref(export_parser)
        export_parser.add_argument("--format", choices=FORMATS, required=True, help="html is one self-contained file")
        export_parser.add_argument("--at", metavar="ENTRY", help="export only the branch up to this entry")
        export_parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            help="write to this new file, or under a proposed name into this folder, instead of standard output",
        )
        export_parser.add_argument(
            "--redact", action="store_true", help="mask secrets and personal names, as redact does"
        )
        export_parser.add_argument("--yes", action="store_true", help="with --redact: mask everything without a review")

    if parser := add("redact", "Copy a session with secrets, home directories and user names masked"):
        add_ref(parser)
        add_copy_options(parser, in_place=False)
