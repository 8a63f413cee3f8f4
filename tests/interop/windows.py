"""Write `model_windows.json` from the catalogue of the newest pi that installs: `python -m tests.interop.windows`."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from sessionbrowse.services.inspect.model_windows import CATALOGUE

from .programs import HERE, newest_that_installs, node, pi_package, run, versions


def windows_of(version: str) -> dict[str, dict[str, int]]:
    """Return the context windows in the catalogue of a version of pi, by provider and model."""
    bundle = pi_package(version) / "dist" / "bundle" / "index.js"
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "PI_OFFLINE": "1"}
        said = run([node(), HERE / "windows.mjs", bundle], Path(home), env)
    listed = json.loads(said)
    return {provider: dict(sorted(listed[provider].items())) for provider in sorted(listed)}


def main() -> None:
    """Ask the newest pi, and write the file."""
    for failure in newest_that_installs("pi"):
        print(failure)
    version = versions("pi")[0]
    rows = [f"{json.dumps(provider)}: {json.dumps(models)}" for provider, models in windows_of(version).items()]
    head = f'{{"pi": "{version}", "date": "{datetime.now(UTC):%Y-%m-%d}", "windows": {{\n'
    CATALOGUE.write_text(head + ",\n".join(rows) + "\n}}\n")
    print(f"{CATALOGUE.name}: pi {version}, {len(rows)} providers")


if __name__ == "__main__":
    main()
