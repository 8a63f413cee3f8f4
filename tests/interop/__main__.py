"""`python -m tests.interop`: the real programs write and read sessions afresh; all answers must agree with ours.

Prints the number of comparisons for each aspect and every difference without a reason; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sessionbrowse.agents import AGENTS

from . import real
from .compare import Finding, compare, compare_listing
from .differences import Judgement, judge
from .edge_omp import write_edge_omp
from .ours import Ours
from .programs import newest_that_installs
from .recording import SessionSet, drop_giants, pack, record_omp, record_pi

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
PI_ROOTS = (("agent/sessions", False), ("custom", True))
EDGE_ROOTS = ((".", True),)
# 48 rounds of gen.mjs with each of the two versions give 60 sessions; 100 of gen.ts give 119.
PI_ROUNDS = 48
OMP_ROUNDS = 100
# What the archives in tests/golden hold; the same everywhere, so that making them anew changes little.
GOLDEN_SEEDS = (11,)
MAX_SHOWN = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison, or with `--record` make the archives of `tests/golden` anew."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", help="repeat a run; repeatable (default: 3 random ones)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the generated files and answers here")
    parser.add_argument("--record", action="store_true", help="write tests/golden instead of comparing")
    chosen = parser.parse_args(arguments)
    seeds = GOLDEN_SEEDS if chosen.record else chosen.seed or [random.randrange(10_000) for _ in range(3)]
    print(f"seeds: {' '.join(map(str, seeds))}", flush=True)
    folder = chosen.keep or Path(tempfile.mkdtemp(prefix="interop-"))
    if chosen.record and chosen.keep is None:  # forks name their parents by path: let it be the same every time
        folder = folder.rename(folder.with_name("sessionbrowse-golden"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        asked = {agent: AGENTS[agent].tested_versions if chosen.record else _versions(agent) for agent in ("pi", "omp")}
        with ThreadPoolExecutor(2) as pool:  # each waits for its own programs
            pi = pool.submit(_record_pi, folder / "pi", seeds, asked["pi"], chosen.record)
            omp = pool.submit(_record_omp, folder / "omp", seeds, asked["omp"], chosen.record)
            sets = {"pi": pi.result(timeout=7200), "omp": omp.result(timeout=7200)}
        if chosen.record:
            GOLDEN.mkdir(exist_ok=True)
            for agent, own in sets.items():
                pack(own, GOLDEN / f"{agent}.tar.xz")
                print(f"{agent}: {sum(len(each.answers) for each in own)} sessions")
            return 0
        return max([_report(own) for own in _by_version(sets.values())])
    except real.Unavailable as reason:
        print(f"the real programs cannot be asked: {reason}", file=sys.stderr)
        return 1
    finally:
        if chosen.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def judge_sets(sets: Sequence[SessionSet]) -> Judgement:
    """Compare every file and folder of the sets with our own reading."""
    files = [(f"{each.agent}/{each.name}/{answer['key']}", each.version) for each in sets for answer in each.answers]
    return judge(_findings(sets), files)


def _findings(sets: Sequence[SessionSet]) -> Iterator[Finding]:
    for each in sets:
        for answer in each.answers:
            yield from compare(each, answer, Ours(each.path(answer), each.agent, real.PI_HOME))
        for listing in each.listings:
            yield from compare_listing(each, listing)


def _versions(agent: str) -> tuple[str, ...]:
    """Return the versions to ask, newest first, after looking for a newer one than those tested, and print them."""
    try:
        for failure in newest_that_installs(agent):
            print(failure, flush=True)
    except real.Unavailable as reason:
        print(f"{agent}: newer versions cannot be looked for: {reason}", flush=True)
    found = real.versions(agent)
    print(f"{agent}: asking {', '.join(found)}", flush=True)
    return found


def _by_version(sets: Iterable[list[SessionSet]]) -> Iterator[list[SessionSet]]:
    """Group the sets of each agent by the version that answered."""
    for own in sets:
        for version in dict.fromkeys(each.version for each in own):
            yield [each for each in own if each.version == version]


def _record_pi(folder: Path, seeds: Sequence[int], versions: Sequence[str], golden: bool) -> list[SessionSet]:
    folder.mkdir()
    real.generate_edge(folder / "edge")
    sets = [record_pi(folder / "edge", EDGE_ROOTS, versions)]
    for seed in seeds:
        for version in versions:
            out = folder / f"{version}-seed-{seed}"
            real.generate_pi(version, out, seed, PI_ROUNDS)
            if golden:
                drop_giants(out)
            sets.append(record_pi(out, PI_ROOTS, versions))
    return sets


def _record_omp(folder: Path, seeds: Sequence[int], versions: Sequence[str], golden: bool) -> list[SessionSet]:
    folder.mkdir()
    sets = []
    for version in versions[:1] if golden else versions:
        own = folder / version
        own.mkdir()
        write_edge_omp(own / "edge")
        sets.append(record_omp(own / "edge", version))
        for seed in seeds:
            out = own / f"seed-{seed}"
            real.generate_omp(out, seed, OMP_ROUNDS, version)
            if golden:
                drop_giants(out)
            sets.append(record_omp(out, version))
    return sets


def _report(sets: list[SessionSet]) -> int:
    """Print what was compared with one version of a program; return 1 if a difference has no reason, else 0."""
    written = sum(len(each.answers) for each in sets if each.name != "edge")
    odd = sum(len(each.answers) for each in sets if each.name == "edge")
    older = sorted({version for each in sets for answer in each.answers for version in answer.get("older", ())})
    beside = f", beside {' and '.join(older)}" if older else ""
    print(f"\n{sets[0].agent} {sets[0].version}{beside}: {written} sessions it wrote, {odd} odd or damaged ones")
    judgement = judge_sets(sets)
    for aspect, count in sorted(judgement.compared.items()):
        print(f"{count:8}  {aspect}")
    differing = f"{len(judgement.explained)} differ for a reason given, {len(judgement.unexplained)} without"
    print(f"{sum(judgement.compared.values()):8}  comparisons, {differing}", flush=True)
    for finding in judgement.unexplained[:MAX_SHOWN]:
        print(f"\n{finding.file} ({finding.version}): {finding.aspect} {finding.detail}", file=sys.stderr)
        print(f"  theirs: {_short(finding.theirs)}\n  ours:   {_short(finding.ours)}", file=sys.stderr)
    for line in judgement.unused:
        print(f"\nno longer a difference: {line}", file=sys.stderr)
    return 1 if judgement.unexplained or judgement.unused else 0


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 600 else f"{text[:600]} …"


if __name__ == "__main__":
    sys.exit(main())
