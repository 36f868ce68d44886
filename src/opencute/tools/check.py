# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute check` and `opencute profile --simulate`: a script in the simulator, watched.

In: a script, notebook or kernel file and its arguments. Out: its exit status, an error on the
user's line where a check fails, and a table of what its kernels asked of memory, line by line::

    check(Path("gemm.py"), ["--m", "64"], seeds=3, show=True)
"""

from __future__ import annotations

import sys
from pathlib import Path

from opencute.arch.tma import DESCRIPTOR_BYTES
from opencute.base.errors import SimulationError
from opencute.base.knobs import KNOBS
from opencute.base.words import singular
from opencute.compiler.targets import asked_target
from opencute.sim.report import LineReport, RunReport, collecting, doubts, reaching
from opencute.tools.run import run_file

__all__ = ["check", "profile", "table"]

_ROWS = 20


def _target() -> str:
    """The simulator, of the processor that OPENCUTE_TARGET names for it."""
    kind, _ = asked_target()
    return KNOBS.target if kind == "sim" else "sim"


def check(path: Path, arguments: list[str], *, seeds: int, show: bool, strict: bool = False) -> int:
    """Run a script with all checks, in several orders of its threads.

    Of a kernel file that launches nothing by itself ``kernel_fn(*get_inputs())`` is called.

    Args:
        path: the script, notebook or kernel file.
        arguments: what it finds in `sys.argv[1:]`.
        seeds: how many orders; the first one is the usual one.
        show: whether to print what the kernels asked of memory.
        strict: whether what the checks only warn of are errors.

    Returns:
        The exit status of the first run that fails (1 if checks found something and the script
        caught it), else 0.
    """
    from opencute.jit.runners import simulated

    before = len(doubts())
    for seed in range(seeds):
        knobs = {"target": _target(), "sim_check": True, "sim_profile": show and seed == 0}
        if strict:
            knobs["sim_strict"] = True
        with KNOBS.override(**knobs, sim_seed=seed), collecting() as found, reaching() as reach:
            status = run_file(path, arguments, call_kernel_fn=True)
        for gap in reach.gaps() if seed == 0 else ():
            print(f"opencute: {gap}", file=sys.stderr)
        if found and (not status or len(found) > 1):
            _show_caught(found)
        if status or found:
            print(f"opencute: the check failed (order {seed})", file=sys.stderr)
            return status or 1
        if seed == 0:
            report = simulated()
            if show:
                print(table(report), file=sys.stderr)
            if not report.launches:
                print("opencute: no kernel was launched", file=sys.stderr)
                return 1
    warned = sorted({*doubts()[before:]})
    but = f", but for warnings ({', '.join(warned)}; errors with --strict)" if warned else ""
    orders = singular(f"{seeds} orders")
    print(f"opencute: nothing found in {orders} of the threads{but}", file=sys.stderr)
    return 0


def _show_caught(found: list[SimulationError]) -> None:
    """Print what the checks found; a script that catches errors shows none of it itself."""
    errors = singular(f"{len(found)} errors, which")
    print(f"opencute: the checks found {errors} the script caught", file=sys.stderr)
    for text in dict.fromkeys(f"{type(e).__name__}: {e}" for e in found):
        print(text, file=sys.stderr)


def profile(path: Path, arguments: list[str]) -> int:
    """Run a script or kernel file in the simulator and print what its kernels asked of memory."""
    from opencute.jit.runners import simulated

    with KNOBS.override(target=_target(), sim_profile=True):
        status = run_file(path, arguments, call_kernel_fn=True)
    print(table(simulated()), file=sys.stderr)
    return status


def table(report: RunReport) -> str:
    """The counts of a report as text: totals, then the lines that move most."""
    rows = [
        f"{report.launches} launches, {report.threads} threads, {report.waits} waits",
        *(
            f"{space}: {report.read_bytes[space]} bytes read, "
            f"{report.written_bytes[space]} bytes written, {report.atomics[space]} atomics"
            for space in ("gmem", "smem")
        ),
        f"shared memory: {sum(report.passes.values())} passes, "
        f"{sum(report.conflicts.values())} of them by bank conflicts",
        *_maps(report),
        "",
        f"{'line':40} {'access':>14} {'instr.':>10} {'sectors/passes':>15} {'x ideal':>8}",
    ]
    lines = sorted(report.by_line.values(), key=lambda r: -(r.sectors + r.passes))
    rows += [_row(line) for line in lines[:_ROWS]]
    if len(lines) > _ROWS:
        rows.append(f"... and {len(lines) - _ROWS} more")
    if lines:
        rows += [
            "x ideal: sectors (gmem) or passes (smem) over the fewest that would do: for the bytes "
            "that an",
            "instruction asks for, however many of its threads ask for them, and without conflicts "
            "of banks",
        ]
    waits = report.waits_by_line.most_common(_ROWS)
    if waits:
        rows += ["", "waits:", *(f"  {where}: {count}" for where, count in waits)]
    return singular("\n".join(rows))


def _maps(report: RunReport) -> list[str]:
    """Tensor maps, where there are any."""
    read, written = report.read_bytes["maps"], report.written_bytes["maps"]
    if not read and not written:
        return []
    return [f"tensor maps: {read // DESCRIPTOR_BYTES} read, {written // DESCRIPTOR_BYTES} written"]


def _row(line: LineReport) -> str:
    name = "?" if line.loc is None else f"{Path(line.loc.file).name}:{line.loc.line}"
    what = f"{line.verb} {line.space} {line.width}"
    moved = line.passes or line.sectors
    return f"{name:40} {what:>14} {line.instructions:>10} {moved:>15} {line.waste:>8.2f}"
