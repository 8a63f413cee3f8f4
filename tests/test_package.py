"""The wheel and the source archive: their contents, and a run from an empty environment."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from sessionbrowse.version import __version__

pytestmark = pytest.mark.package

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 300
TEST_TOOLS = ("hypothesis", "pytest", "pytest-asyncio", "pytest-xdist", "pyte", "trash-cli")
SMOKE = ("tests/tui/lists/test_browse.py", "tests/cli/test_cli.py", "tests/services/search/test_ranking.py")
BUILD_TIME = {"SOURCE_DATE_EPOCH": "1767323045"}


def run(*command: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], text=True, capture_output=True, timeout=LIMIT_S, env=env)


def environment(place: Path) -> Path:
    venv.create(place, with_pip=True)
    return place / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: Path, *what: str | Path) -> None:
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", *what)
    if done.returncode and ("Connection" in done.stderr or "Could not find a version" in done.stderr):
        pytest.skip(f"pip cannot reach a package index: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("package")
    python = environment(place / "tools")
    install(python, "build", "twine")
    for out in ("dist", "again"):
        done = run(python, "-m", "build", "--outdir", place / out, ROOT, env={**os.environ, **BUILD_TIME})
        assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (place / "dist").glob("*.whl")
    (archive,) = (place / "dist").glob("*.tar.gz")
    checked = run(python, "-m", "twine", "check", "--strict", wheel, archive)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return wheel, archive


def test_the_wheel_holds_the_program_and_no_tests(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(path).decode())
    own = {str(file.relative_to(ROOT)) for file in (ROOT / "sessionbrowse").rglob("*.py")}
    inside = {str(file.relative_to(ROOT)) for file in (ROOT / "sessionbrowse/inside").iterdir() if file.is_file()}
    assert inside
    assert own | inside | {"sessionbrowse/py.typed"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    data = path.split("/")[0].replace(".dist-info", ".data")
    assert {name.split("/")[0] for name in names} == {"sessionbrowse", path.split("/")[0], data}
    assert {name for name in names if name.startswith(data)} == {f"{data}/data/share/man/man1/sessionbrowse.1"}
    needs = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert metadata["License-Expression"] == "MIT"
    assert not any(need.startswith(("pytest", "hypothesis", "mypy", "ruff", "pyte", "trash-cli")) for need in needs)


def test_a_second_build_has_the_same_bytes(built):
    for file in built:
        assert (file.parent.with_name("again") / file.name).read_bytes() == file.read_bytes()


def test_the_source_archive_holds_what_the_tests_need(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "SECURITY.md", "Makefile", "pyproject.toml", "tests/conftest.py"}
    assert wanted | {"sessionbrowse/py.typed"} <= names


def test_the_wheel_runs_in_an_empty_environment(built, tmp_path):
    python = environment(tmp_path / "empty")
    install(python, built[0])
    program = python.with_name("sessionbrowse")
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.defpath}
    version = run(program, "--version", env=env)
    assert (version.returncode, version.stderr) == (0, "")
    assert __version__ in version.stdout
    listed = run(program, "list", "--json", env=env)
    assert (listed.returncode, json.loads(listed.stdout)) == (0, []), listed.stderr
    assert run(python, "-c", "import pytest").returncode != 0


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_bounds_of_the_dependencies_hold(built, tmp_path, resolution: str):
    tools = environment(tmp_path / "tools")
    install(tools, "uv")
    python = environment(tmp_path / "bounds")
    uv = (tools.with_name("uv"), "pip", "install", "--quiet", "--python", python)
    done = run(*uv, "--resolution", resolution, built[0])
    assert done.returncode == 0, done.stderr
    lines = run(python, "-m", "pip", "freeze").stdout
    install(python, *(line for line in lines.splitlines() if "==" in line), *TEST_TOOLS)
    # From the checkout, for the wheel has no tests: the versions of the dependencies are what is tried.
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(ROOT / path for path in SMOKE))
    assert done.returncode == 0, lines + done.stdout + done.stderr
