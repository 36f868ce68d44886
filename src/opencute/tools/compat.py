# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute compat`: run published CUTLASS examples and write down which of them work.

In: a copy of the public CUTLASS repository, named by the knob `OPENCUTE_UPSTREAM`. Out: the page
`docs/compatibility.md` and the record that it is made from, `docs/compatibility.json`. A run fills
in the results of its own target, simulator or GPU, and leaves those of the other as they are. Each
file runs unmodified in a child process, as `opencute run` runs it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path

from opencute.base.knobs import KNOBS, Knobs
from opencute.integrations import environment
from opencute.tools.compat_list import EXAMPLES, Example

__all__ = ["EXAMPLES", "Example", "Outcome", "main", "page", "run_example"]

PAGE = Path("docs/compatibility.md")
RECORD = Path("docs/compatibility.json")
_TITLES = {"sim": "simulator", "gpu": "GPU"}


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Args:
        result: works, fails, too slow, or absent from the copy.
        seconds: wall clock of the child process; None where it was not kept.
        remark: the last line of its errors.
        date: when it ran.
        device: what it ran on.
    """

    result: str
    seconds: float | None
    remark: str = ""
    date: str = ""
    device: str = ""

    @property
    def works(self) -> bool:
        """Whether the file ended without an error; its own checks are part of it."""
        return self.result == "works"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Our own errors go on with the place that they are about.
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    last = re.sub(r"^(\w+\.)+(?=\w+: )", "", (named or lines or [""])[-1])
    last = re.sub(r"\s*\(?/\S+", "", last)  # no paths of this machine
    return last[:120].replace("|", "\\|")


def _command(path: Path, arguments: tuple[str, ...]) -> list[str]:
    run = [sys.executable, "-m", "opencute.tools", "run"]
    if path.name.startswith("test_"):
        # No settings of a project that the copy happens to lie in.
        plain = ("-q", "-c", os.devnull, "-p", "no:cacheprovider", "--noconftest", "--tb=line")
        return [*run, "-m", "pytest", *plain, str(path), *arguments]
    return [*run, str(path), *arguments]


def run_example(upstream: Path, example: Example, timeout: float, target: str = "sim") -> Outcome:
    """Run one example in a child process."""
    path = (upstream / example.path).resolve()
    if not path.is_file():
        return Outcome("absent", 0.0, "not in this copy")
    root = str(environment.source_root())
    # What the published tests' own conftest adds, for the files that they import.
    beside = upstream.resolve() / "examples/python/CuTeDSL"
    theirs = (beside / "cute", beside) if path.name.startswith("test_") else ()
    search_path = os.pathsep.join(
        str(p) for p in (root, *map(os.path.abspath, sys.path), *theirs) if str(p)
    )
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as scratch:  # examples keep stages where they run
            done = subprocess.run(
                _command(path, example.arguments_for(target)),
                capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
                env={**os.environ, "PYTHONPATH": search_path}, stdin=subprocess.DEVNULL,
                cwd=scratch,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome("too slow", timeout, f"more than {timeout:g} s")
    seconds = round(time.monotonic() - start, 1)
    if example.raises and done.returncode and example.raises.lower() in done.stderr.lower():
        return Outcome("works", seconds)
    if done.returncode or example.raises:
        return Outcome("fails", seconds, _last_line(done.stderr) or _last_line(done.stdout))
    return Outcome("works", seconds)


def upstream_commit(upstream: Path) -> str:
    """The commit of the copy, as git knows it; empty when it is no git checkout."""
    if not (upstream / ".git").exists():
        return ""
    done = subprocess.run(
        ["git", "-C", str(upstream), "rev-parse", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip()


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    timed = "" if outcome.seconds is None else f", {outcome.seconds:.1f} s"
    shown = f"{outcome.result}{timed}"
    return shown if outcome.works or not outcome.remark else f"{shown}: {outcome.remark}"


def page(results: dict[str, dict[str, Outcome]], commit: str) -> str:
    """The page as Markdown.

    Args:
        results: outcomes by target and the example's name.
        commit: of the copy.
    """
    facts: list[str] = []
    for target, outcomes in results.items():
        if outcomes:
            devices = sorted({f"{o.device}, {o.date}" for o in outcomes.values()})
            works = sum(o.works for o in outcomes.values())
            facts.append(
                f"- {_TITLES[target]} ({'; '.join(devices)}): {works} of {len(outcomes)} work"
            )
    rows: list[str] = []
    for e in EXAMPLES:
        sim, gpu = (_cell(results[target].get(e.name)) for target in ("sim", "gpu"))
        rows.append(f"| `{e.name}` | {sim} | {gpu} |")
    return "\n".join([
        "# Compatibility with the published CUTLASS examples",
        "",
        "Written by `opencute compat`; do not edit. Each file is run unmodified, from a copy of",
        f"the public repository named by `{Knobs.upstream.env}`; it works when it ends without an",
        "error, its own checks of results included. Arguments are those of the GPU run; in the",
        "simulator sizes are smaller.",
        "",
        f"- Upstream commit: `{commit or 'unknown'}`",
        *facts,
        "",
        "| file | simulator | GPU |",
        "|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def _read(record: Path) -> tuple[str, dict[str, dict[str, Outcome]]]:
    if not record.is_file():
        return "", {"sim": {}, "gpu": {}}
    found = json.loads(record.read_text(encoding="utf-8"))
    names = {e.name for e in EXAMPLES}
    return found["commit"], {
        target: {n: Outcome(**o) for n, o in found[target].items() if n in names}
        for target in _TITLES
    }


def _write(record: Path, commit: str, results: dict[str, dict[str, Outcome]]) -> None:
    kept = {t: {n: asdict(o) for n, o in rows.items()} for t, rows in results.items()}
    text = json.dumps({"commit": commit, **kept}, indent=1, ensure_ascii=False)
    record.write_text(text + "\n", encoding="utf-8")


def _device(target: str) -> str:
    if target == "sim":
        return "sm_90a"
    from opencute.runtime import device

    return device.properties().name


def main(folder: Path | None, *, commit: str = "", timeout: float = 300.0, only: str = "*") -> int:
    """Run the examples, write the page and its record, and print a line for each.

    Args:
        folder: where page and record are; None for the project's `docs`, if it is near.
        commit: the copy's commit, where it is no git checkout; else the one that was run before.
        timeout: seconds for each example.
        only: glob on the examples' names.

    Returns:
        0 when all of them work, 1 when one does not, 2 when there is no copy to run.
    """
    upstream = KNOBS.upstream
    if upstream is None or not upstream.is_dir():
        print(f"opencute: set {Knobs.upstream.env} to a copy of CUTLASS", file=sys.stderr)
        return 2
    folder = folder or (PAGE.parent if PAGE.parent.is_dir() else None)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if not any(fnmatch(e.name, only) for e in EXAMPLES):
        print(f"opencute: no file of the list matches {only!r}", file=sys.stderr)
        return 2
    target = "sim" if environment.uses_simulator() else "gpu"
    before, results = _read(folder / RECORD.name) if folder else ("", {"sim": {}, "gpu": {}})
    commit = commit or upstream_commit(upstream) or before
    today, device = time.strftime("%Y-%m-%d", time.gmtime()), _device(target)
    good = True
    for example in EXAMPLES:
        if not fnmatch(example.name, only):
            continue
        done = run_example(upstream, example, timeout, target)
        results[target][example.name] = Outcome(
            done.result, done.seconds, done.remark, today, device
        )
        good = good and done.works
        seconds = f"{done.seconds or 0:6.1f} s"
        print(f"{done.result:>8} {seconds}  {example.name}  {done.remark}", flush=True)
        if folder is not None:  # kept after each, so that a run that is stopped loses nothing
            _write(folder / RECORD.name, commit, results)
            (folder / PAGE.name).write_text(page(results, commit), encoding="utf-8")
    return 0 if good else 1
