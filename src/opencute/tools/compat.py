# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute compat`: run published CUTLASS examples and write down which of them work.

In: a copy of the public CUTLASS repository, named by the knob `OPENCUTE_UPSTREAM`. Out: the table
`docs/compatibility.md`, with the commit of that copy. Each example runs unmodified in a child
process, as `opencute run` runs it. Nothing of the examples is kept here but their names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from opencute.base.knobs import KNOBS, Knobs
from opencute.integrations import environment

__all__ = ["EXAMPLES", "Example", "Outcome", "main", "run_example", "table"]

PAGE = Path("docs/compatibility.md")
_CUTE = "examples/python/CuTeDSL/cute"
_ELEMENTWISE = f"{_CUTE}/ampere/kernel/elementwise"


@dataclass(frozen=True)
class Example:
    """A published file and the arguments to run it with."""

    path: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """How the table shows it."""
        return " ".join((self.path.removeprefix(f"{_CUTE}/"), *self.arguments))


_SMALL = ("--M", "256", "--N", "512")
EXAMPLES: tuple[Example, ...] = (
    Example(f"{_ELEMENTWISE}/elementwise_add.py"),
    Example(f"{_ELEMENTWISE}/elementwise_add.py", ("--M", "3", "--N", "12")),
    *(
        Example(f"{_ELEMENTWISE}/elementwise_apply.py", ("--op", op, *_SMALL))
        for op in ("add", "mul", "leaky_relu")
    ),
    *(
        Example(f"{_CUTE}/notebooks/{name}.ipynb")
        for name in (
            "hello_world",
            "print",
            "data_types",
            "tensor",
            "tensorssa",
            "composed_layout",
            "cute_layout_algebra",
            "elementwise_add",
        )
    ),
)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    example: Example
    result: str
    seconds: float
    remark: str = ""

    @property
    def works(self) -> bool:
        return self.result == "works"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120].replace("|", "\\|") if lines else ""


def run_example(upstream: Path, example: Example, timeout: float) -> Outcome:
    """Run one example in a child process."""
    path = (upstream / example.path).resolve()
    if not path.is_file():
        return Outcome(example, "absent", 0.0, "not in this copy")
    root = str(environment.source_root())
    search_path = os.pathsep.join(p for p in (root, *map(os.path.abspath, sys.path)) if p)
    command = [sys.executable, "-m", "opencute.tools", "run", str(path), *example.arguments]
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as scratch:  # examples keep stages where they run
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=timeout,
                check=False, env={**os.environ, "PYTHONPATH": search_path},
                stdin=subprocess.DEVNULL, cwd=scratch,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(example, "too slow", timeout, f"more than {timeout:g} s")
    seconds = time.monotonic() - start
    if done.returncode:
        return Outcome(example, "fails", seconds, _last_line(done.stderr))
    return Outcome(example, "works", seconds)


def upstream_commit(upstream: Path) -> str:
    """The commit of the copy, as git knows it; empty when it is no git checkout."""
    if not (upstream / ".git").exists():
        return ""
    done = subprocess.run(
        ["git", "-C", str(upstream), "rev-parse", "HEAD"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip()


def table(outcomes: list[Outcome], commit: str, target: str) -> str:
    """The page as Markdown."""
    works = sum(o.works for o in outcomes)
    rows = [
        f"| `{o.example.command}` | {o.result} | {o.seconds:.1f} | {o.remark} |" for o in outcomes
    ]
    return "\n".join([
        "# Compatibility with the published CUTLASS examples",
        "",
        "Written by `opencute compat`; do not edit. Each file is run unmodified, from a copy of",
        f"the public repository named by `{Knobs.upstream.env}`.",
        "",
        f"- Upstream commit: `{commit or 'unknown'}`",
        f"- Target: {target}",
        f"- Date: {time.strftime('%Y-%m-%d', time.gmtime())}",
        f"- {works} of {len(outcomes)} work",
        "",
        "| example | result | seconds | remark |",
        "|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def main(output: Path | None, *, commit: str = "", timeout: float = 300.0, only: str = "*") -> int:
    """Run the examples, write the page, and print it.

    Args:
        output: where to write; None for the project's page, if all examples run and it is near.
        commit: the copy's commit, where it is no git checkout.
        timeout: seconds for each example.
        only: glob on the examples' commands.

    Returns:
        0 when all of them work, 1 when one does not, 2 when there is no copy to run.
    """
    upstream = KNOBS.upstream
    if upstream is None or not upstream.is_dir():
        print(f"opencute: set {Knobs.upstream.env} to a copy of CUTLASS", file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    for example in EXAMPLES:
        if fnmatch(example.command, only):
            outcomes.append(run_example(upstream, example, timeout))
            print(f"{outcomes[-1].result:>8}  {example.command}", file=sys.stderr)
    target = "simulator (sm_90a)" if environment.uses_simulator() else "GPU"
    page = table(outcomes, commit or upstream_commit(upstream), target)
    if output is None and only == "*" and PAGE.parent.is_dir():
        output = PAGE
    if output is not None:
        output.write_text(page, encoding="utf-8")
    print(page)
    return 0 if all(o.works for o in outcomes) else 1
