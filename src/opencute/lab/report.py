# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The parent's half of `opencute verify` and `opencute benchmark`: options in, the JSON report out.

In: a path and options. Out: a dict for `strict_json.dumps`, complete also when the child crashed,
ran out of time or never answered, and the exit status::

    report, status = verify(Path("kernel.py"), rtol=1e-3, atol=1e-3)
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from opencute.lab.process import Outcome, run_job
from opencute.lab.rules import FORMULA, RELATIVE_DIVISOR, Tolerance

__all__ = ["benchmark", "mock_benchmark", "mock_verify", "verify"]

Report = tuple[dict[str, Any], int]

_TIMES: dict[str, Any] = {
    "kernel_time_ms": None, "reference_time_ms": None, "speedup": None, "warmup_iters": 0,
    "benchmark_iters": 0, "wrong_framework": None, "min_ms": None, "median_ms": None,
    "p10_ms": None, "p90_ms": None, "host_time_ms": None, "gbps": None, "tflops": None,
    "compilations_in_timed_loop": 0, "clock": None,
}  # fmt: skip


def _details(parts: list[str], outcome: Outcome) -> str:
    if outcome.output:
        parts = [*parts, f"output of the file (its end):\n{outcome.output}"]
    return "\n".join(parts)


def _problems(outcome: Outcome) -> list[str]:
    if outcome.result is None:
        return [str(outcome.failure)]
    return list(outcome.result.get("problems", []))


def _next_step(path: Path, outcome: Outcome) -> list[str]:
    """What to do about wrong numbers, or about a kernel that ended the process or never ended."""
    result = outcome.result
    if result is not None and not (
        result.get("launches") and any(o.get("wrong_elements") for o in result.get("outputs", ()))
    ):
        return []
    command = f"opencute check {shlex.quote(str(path))}"
    return [
        f"to find out why, run `{command}`: it looks for races, missing waits, fences and "
        "barriers, accesses outside of arrays and deadlocks, in the simulator"
    ]


def _not_looked_for(path: Path, result: dict[str, Any]) -> list[str]:
    """What right numbers do not show, of a kernel of ours."""
    if not result.get("launches"):
        return []
    command = f"opencute check {shlex.quote(str(path))}"
    return [f"races and missing barriers were not looked for: `{command}` does"]


def verify(
    path: Path, *, rtol: float = 1e-3, atol: float = 1e-3, timeout: float = 60.0, seeds: int = 3,
    equal_nan: bool = False,
) -> Report:  # fmt: skip
    """Check a kernel file against its reference.

    Returns:
        The report, and the exit status: 0 when the kernel is right, else 1.
    """
    outcome = run_job(
        {"command": "verify", "file": str(path.resolve()), "rtol": rtol, "atol": atol,
         "equal_nan": equal_nan, "seeds": seeds},
        timeout,
    )  # fmt: skip
    result = outcome.result or {}
    problems = _problems(outcome)
    correct = bool(result.get("correct")) and not problems
    ran = result.get("seeds", [])
    first = f"right for seeds {ran}" if correct else "wrong: " + "; ".join(problems)
    policy = Tolerance(rtol, atol, equal_nan).nan_policy()
    rules = (
        f"an element is right when {FORMULA} with rtol={rtol:g}, atol={atol:g}; the relative "
        f"difference divides by {RELATIVE_DIVISOR}; {policy}"
    )
    advice = _not_looked_for(path, result) if correct else _next_step(path, outcome)
    notes = [*advice, *result.get("notes", [])]
    report: dict[str, Any] = {
        "correct": correct,
        **{k: result.get(k) for k in ("max_abs_diff", "max_rel_diff")},
        **{k: v for k, v in result.items() if k.endswith("_text")},
        "details": _details([first, *(f"note: {n}" for n in notes), rules], outcome),
        "file": str(path),
        "target": result.get("target"),
        "problems": problems,
        "notes": notes,
        "outputs": result.get("outputs", []),
        "seeds": ran,
        "rtol": rtol,
        "atol": atol,
        "formula": FORMULA,
        "relative_divisor": RELATIVE_DIVISOR,
        "nan_policy": policy,
        "launches": result.get("launches"),
        "compilations": result.get("compilations"),
        "child_output": outcome.output,
        "elapsed_s": round(outcome.elapsed, 3),
    }
    return report, 0 if correct else 1


def benchmark(
    path: Path, *, warmup: int = 10, iters: int = 40, timeout: float = 120.0,
    flush_l2: bool = True, graph: bool = False,
) -> Report:  # fmt: skip
    """Time a kernel file against its reference.

    Returns:
        The report, and the exit status: 0 when both were timed, else 1.
    """
    plan = {"warmup": warmup, "iters": iters, "flush_l2": flush_l2, "graph": graph}
    outcome = run_job({"command": "benchmark", "file": str(path.resolve()), "plan": plan}, timeout)
    result = outcome.result or {}
    problems = _problems(outcome)
    first = "failed: " + "; ".join(problems) if problems else "timed"
    notes = [f"note: {n}" for n in result.get("notes", [])]
    report: dict[str, Any] = {
        # First, for they may say that the numbers mean something else.
        "notes": result.get("notes", []),
        **_TIMES,
        **result,
        "details": _details([first, *notes], outcome),
        "file": str(path),
        "problems": problems,
        "child_output": outcome.output,
        "elapsed_s": round(outcome.elapsed, 3),
    }
    return report, 1 if problems else 0


def mock_verify(path: Path) -> dict[str, Any]:
    """What `verify` prints with `--mock`: the shape of a report, and nothing was run."""
    return {
        "correct": True, "max_abs_diff": 0.0, "max_rel_diff": 0.0,
        "details": "canned result: nothing was run", "file": str(path), "target": None,
        "problems": [], "notes": [], "outputs": [], "seeds": [], "mock": True,
    }  # fmt: skip


def mock_benchmark(path: Path, *, warmup: int, iters: int) -> dict[str, Any]:
    """What `benchmark` prints with `--mock`: the shape of a report, and nothing was run."""
    canned = {"kernel_time_ms": 0.1, "reference_time_ms": 0.1, "speedup": 1.0, "min_ms": 0.1,
              "median_ms": 0.1, "p10_ms": 0.1, "p90_ms": 0.1, "host_time_ms": 0.01}  # fmt: skip
    return {
        "notes": ["canned result: nothing was run"], **_TIMES, **canned, "warmup_iters": warmup,
        "benchmark_iters": iters,
        "wrong_framework": False, "clock": "none", "details": "canned result: nothing was run",
        "file": str(path), "problems": [], "mock": True,
    }  # fmt: skip
