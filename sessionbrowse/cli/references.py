"""Find the sessions named by a command's arguments."""

from __future__ import annotations

import argparse

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import scope_of
from sessionbrowse.services.list.locate import Located, locate
from sessionbrowse.services.transaction.change import target_of
from sessionbrowse.store.write.admission import Target


def find(arguments: argparse.Namespace) -> Located:
    """Return the session that the argument REF names: its file, its agent, and the place that contains it."""
    return locate(arguments.ref, scope_of(arguments), output.warning_once())


def find_target(arguments: argparse.Namespace) -> Target:
    """Return the session that REF names as the target of a change."""
    return target_of(find(arguments), arguments.ref)


def find_targets(arguments: argparse.Namespace) -> list[Target]:
    """Return the targets of all REFs, each once; an unknown REF fails the command before anything is changed."""
    scope, warn = scope_of(arguments), output.warning_once()
    targets = [target_of(locate(reference, scope, warn), reference) for reference in arguments.refs]
    return list({target.path: target for target in targets}.values())
