"""The real programs: which versions are asked, and how they are installed by npm.

`newest_that_installs` looks for versions newer than those that the code names as tested. The newest one that it could
install is noted in the cache, and asked from then on, beside the tested ones.

omp's packages are published at different times: each of its own dependencies is taken in the newest version that
exists, and names that those do not have yet are bridged by `_bridge`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import platformdirs

from sessionbrowse.agents import AGENTS

PACKAGES = {"pi": "@earendil-works/pi-coding-agent", "omp": "@oh-my-pi/pi-coding-agent"}
NODE_MAJOR = "24"
BUN = "1.4.5"
HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
_OWN = "@oh-my-pi/"
_OWN_NATIVE = f"{_OWN}pi-natives-linux-x64"
# In omp 18.2.5 the selectors and the theme moved to the package of the terminal interface.
_MOVED = {
    f"{_OWN}pi-coding-agent/modes/components/tree-selector": f"{_OWN}pi-tui/overlays/tree-selector",
    f"{_OWN}pi-coding-agent/modes/components/session-selector": f"{_OWN}pi-tui/overlays/session-selector",
    f"{_OWN}pi-coding-agent/modes/theme/theme": f"{_OWN}pi-tui/theme/theme",
}
_QUIET = ("--no-audit", "--no-fund", "--no-package-lock")


class Unavailable(Exception):
    """A real program cannot be asked here; the message says what is missing."""


def oracle_folder() -> Path:
    """Return the folder of the oracle scripts: `SESSIONBROWSE_ORACLE`, else `../shared/oracle` beside the checkout."""
    folder = Path(os.environ.get("SESSIONBROWSE_ORACLE") or CHECKOUT.parent / "shared" / "oracle")
    if not (folder / "pi" / "oracle.mjs").is_file():
        raise Unavailable(f"no oracle scripts in {folder}; name their folder in SESSIONBROWSE_ORACLE")
    return folder


def cache_folder() -> Path:
    """Return where the real programs are installed: `SESSIONBROWSE_INTEROP`, else below the user's cache."""
    named = os.environ.get("SESSIONBROWSE_INTEROP")
    return Path(named) if named else platformdirs.user_cache_path("sessionbrowse") / "interop"


# ---- versions ------------------------------------------------------------------------------------------------


def versions(agent: str) -> tuple[str, ...]:
    """Return the versions of a program to ask, newest first: those tested, and a newer one that was installed."""
    tested = AGENTS[agent].tested_versions
    try:
        noted = json.loads(_note().read_bytes()).get(agent, "")
    except (OSError, ValueError):
        noted = ""
    return (noted, *tested) if noted and number(noted) > number(tested[0]) else tested


def newest_that_installs(agent: str) -> list[str]:
    """Install the newest published version of a program, note it for `versions`, and return what did not install."""
    tested = AGENTS[agent].tested_versions[0]
    published = [each for each in _published(PACKAGES[agent]) if number(each) > number(tested)]
    failed = []
    found = ""
    for version in sorted(published, key=number, reverse=True):
        try:
            (pi_package if agent == "pi" else omp_folder)(version)
        except Unavailable as reason:
            failed.append(f"{agent} {version} does not install: {str(reason).strip().splitlines()[-1]}")
            continue
        found = version
        break
    try:
        noted = json.loads(_note().read_bytes())
    except (OSError, ValueError):
        noted = {}
    _note().write_text(json.dumps(noted | {agent: found}))
    return failed


def _note() -> Path:
    return cache_folder() / "newest.json"


def number(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare it with others."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _published(package: str) -> list[str]:
    """Return the published versions of a package, without those for trial, oldest first."""
    said = json.loads(_npm("view", package, "versions", "--json", cwd=Path("/")))
    return sorted((each for each in said if re.fullmatch(r"[\d.]+", each)), key=number)


# ---- installing ----------------------------------------------------------------------------------------------


def run(command: Sequence[str | Path], cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a program and return what it prints, or raise `Unavailable` with all that it said."""
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3600
    )
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def _npm(*arguments: str, cwd: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed; it fetches the real programs by their package names")
    return run([npm, *arguments], cwd)


def node() -> Path:
    """Return a Node that today's pi runs on (22.19 or newer): the system's, else one of our own."""
    system = shutil.which("node")
    if system is not None:
        said = subprocess.run([system, "--version"], capture_output=True, text=True, timeout=3600).stdout
        version = re.match(r"v(\d+)\.(\d+)", said)
        if version and (int(version[1]), int(version[2])) >= (22, 19):
            return Path(system)
    folder = cache_folder() / f"node{NODE_MAJOR}"
    program = folder / "node_modules" / "node" / "bin" / "node"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _npm("install", "--prefix", str(folder), *_QUIET, f"node@{NODE_MAJOR}", cwd=folder)
    return program


def pi_package(version: str) -> Path:
    """Return the unpacked package of a pi version, fetched by name where it is missing."""
    folder = cache_folder() / f"pi-{version}"
    installed = folder / "node_modules" / PACKAGES["pi"]
    unpacked = folder / "package"
    for package in (unpacked, installed):
        if (package / "package.json").is_file():
            return package
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{PACKAGES['pi']}@{version}"
    if number(version) >= (1, 0):  # its tarball alone runs: dist/bundle is self-contained
        _npm("pack", name, "--silent", cwd=folder)
        for archive in folder.glob("*.tgz"):
            with tarfile.open(archive) as tar:
                # The first releases of Python 3.11 have no filters.
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(folder)
        return unpacked
    _npm("install", "--prefix", str(folder), "--ignore-scripts", *_QUIET, name, cwd=folder)
    return installed


def pi_command(version: str) -> list[str | Path]:
    """Return the command that starts the real pi with extensions: its tarball alone lacks the loader of extensions."""
    package = pi_package(version)
    if package.name != "package":
        return [node(), package / "dist" / "cli.js"]
    loader = package.parent / "node_modules" / "jiti"
    if not loader.exists():
        wanted = json.loads((package / "package.json").read_text())["dependencies"]["jiti"]
        folder = package.parent
        _npm("install", "--prefix", str(folder), *_QUIET, "--no-save", f"jiti@{wanted}", cwd=folder)
    return [node(), package / "dist" / "bundle" / "cli.js"]


def omp_command(version: str | None = None) -> list[str | Path]:
    """Return the command that starts the real omp, the newest by default."""
    folder = omp_folder(version)
    return [bun(folder), folder / "node_modules" / PACKAGES["omp"] / "dist" / "cli.js"]


def omp_folder(version: str | None = None) -> Path:
    """Return a folder with an omp (by default the newest), the oracle's scripts and ours, which find it from there."""
    version = version or versions("omp")[0]
    folder = cache_folder() / f"omp-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "installed").exists():
        (folder / "package.json").write_text(json.dumps(_omp_dependencies(version)))
        _npm("install", "--ignore-scripts", *_QUIET, cwd=folder)
        _bridge(folder / "node_modules")
        (folder / "installed").touch()
    for script in [*(oracle_folder() / "omp").glob("*.ts"), *HERE.glob("*_omp.ts")]:
        text = script.read_text()
        if number(version) >= (18, 2, 5):
            for before, after in _MOVED.items():
                text = text.replace(before, after)
        target = folder / script.name
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
    return folder


def bun(folder: Path) -> Path:
    """Return the program that runs omp, installed beside it."""
    return folder / "node_modules" / "@oven" / "bun-linux-x64" / "bin" / "bun"


def _omp_dependencies(version: str) -> dict[str, Any]:
    """Return the `package.json` that installs an omp, with its own dependencies in versions that exist."""
    name = PACKAGES["omp"]
    asked = json.loads(_npm("view", f"{name}@{version}", "dependencies", "--json", cwd=Path("/")))
    own = [each for each in asked if each.startswith(_OWN)]
    chosen = {}
    for package in [*own, _OWN_NATIVE]:
        published = [each for each in _published(package) if number(each) <= number(version)]
        if not published:
            raise Unavailable(f"no version of {package} is published")
        chosen[package] = published[-1]
    overrides = {package: newest for package, newest in chosen.items() if newest != version}
    native = {_OWN_NATIVE: chosen[_OWN_NATIVE]}
    return {
        "private": True,
        "type": "module",
        "dependencies": {name: version, "@oven/bun-linux-x64": BUN} | native,
        "overrides": {package: newest for package, newest in overrides.items() if package not in native},
    }


def _bridge(modules: Path) -> None:
    """Let omp's own code run on older dependencies: give those the names that it imports and they do not have.

    None of these takes part in what is asked: a flag of opened files, virtual file systems of shells, a predictor of
    words, a model of macOS.
    """
    own = modules / _OWN
    opening = own / "pi-utils/src/fs-open.ts"
    if not opening.exists():
        opening.write_text('export { openSync as openCloexecSync } from "node:fs";\n')
    program = (own / "pi-coding-agent/dist/cli.js").read_text()
    natives = own / "pi-natives"
    script = natives / "native/index.js"
    text = script.read_text()
    wanted = {
        name.split(" as ")[0].strip()
        for names in re.findall(r'import\{([^}]*)\}from"@oh-my-pi/pi-natives"', program)
        for name in names.split(",")
    }
    there = set(re.findall(r"export (?:const|function|async function|class|let|var) (\w+)", text))
    for names in re.findall(r"export \{([^}]*)\}", text):
        there |= {name.split(" as ")[-1].strip() for name in names.split(",")}
    script.write_text(text + "".join(f"export const {name} = {{}};\n" for name in sorted(wanted - there)))
    # The compiled part tells its version, and is refused by a package of another one.
    compiled = json.loads((modules / _OWN_NATIVE / "package.json").read_text())["version"]
    package = natives / "package.json"
    package.write_text(json.dumps(json.loads(package.read_text()) | {"version": compiled}))
