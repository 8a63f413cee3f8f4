"""Make a release: set the version, date the section of the changelog, commit and tag. It pushes nothing.

`python -m tests.release 0.2.0` runs it in the checkout, as `make release VERSION=0.2.0` does.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILE = "sessionbrowse/version.py"
CHANGELOG = "CHANGELOG.md"
LIMIT_S = 60

_UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_STATED = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


class Refused(Exception):
    """Reason why no release is made; nothing was changed."""


def release(root: Path, version: str, today: date) -> str:
    """Return the new tag, after writing version and changelog of the checkout `root`, a commit and the tag."""
    source = (root / VERSION_FILE).read_text(encoding="utf-8")
    changelog = (root / CHANGELOG).read_text(encoding="utf-8")
    stated = _STATED.search(source)
    unreleased = _UNRELEASED.search(changelog)
    tag = f"v{version}"
    if stated is None:
        raise Refused(f"{VERSION_FILE} states no version.")
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise Refused(f"{version!r} is not a version: give three numbers, as VERSION=0.2.0.")
    if _numbers(version) <= _numbers(stated[1]):
        raise Refused(f"{version} is not newer than {stated[1]}, the version in {VERSION_FILE}.")
    if _git(root, "tag", "--list", tag):
        raise Refused(f"The tag {tag} exists: choose a newer version.")
    if unreleased is None or not unreleased[1].strip():
        raise Refused(f"{CHANGELOG} has nothing under Unreleased: write what changed for users.")
    if _git(root, "status", "--porcelain"):
        raise Refused("The checkout has changes: commit them first.")

    dated = f"## Unreleased\n\n## {version} ({today.isoformat()})\n{unreleased[1]}"
    (root / CHANGELOG).write_text(
        changelog[: unreleased.start()] + dated + changelog[unreleased.end() :], encoding="utf-8"
    )
    (root / VERSION_FILE).write_text(_STATED.sub(f'__version__ = "{version}"', source), encoding="utf-8")
    _git(root, "commit", "--quiet", "--message", f"Release {version}", "--", VERSION_FILE, CHANGELOG)
    _git(root, "tag", "--annotate", "--message", f"sessionbrowse {version}", tag)
    return tag


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=root, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise Refused(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    try:
        tag = release(ROOT, sys.argv[1] if len(sys.argv) > 1 else "", datetime.now(UTC).date())
    except Refused as reason:
        sys.exit(str(reason))
    print(f"Tagged {tag}; look at `git show {tag}`, then `git push --follow-tags`.")
