# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs, phase by phase, from Python source to machine code.

    python benchmarks/compile.py [CASE ...] [--arch sm_80] [--repeat 3] [--json FILE] [--profile N]

Cases: an example, our own kernels and, with OPENCUTE_UPSTREAM, published kernels; those of Hopper
are for sm_90a, others for sm_80 unless --arch says so. Each compiles without the disk cache:
``cold`` is the first time in the process (functions are rewritten, tables filled), ``warm`` the
best of the repeats. Times are processor time, of ptxas that of its process, and wall time in
brackets. ``whole`` is the wall time from Python source to machine code and host function as
`cute.compile` goes about it: ptxas starts up meanwhile, and while it assembles, the module is
verified and printed and the host function made. No GPU is needed; ``--profile 25`` prints where the
time goes instead.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import io
import json
import os
import resource
import signal
import statistics
import sys
import time
import types
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["OPENCUTE_TARGET"] = "sim"  # tracing is the same there, and needs no GPU
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]

# The imports follow the path.
# ruff: noqa: E402
import numpy as np

from opencute.arch.target import target
from opencute.base.knobs import KNOBS
from opencute.codegen.device import assemble, llvm_to_ptx
from opencute.codegen.llvm_text import device_module_text
from opencute.compiler.artefacts import Artefacts
from opencute.integrations import environment
from opencute.ir.builder import paused_gc
from opencute.ir.printer import outline
from opencute.jit.request import Request
from opencute.passes.pipelines import device_pipeline

CUTE = "examples/python/CuTeDSL/cute"


class Captured(BaseException):
    """A function is about to be traced: a BaseException, for nobody to handle."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


def capture(work: Callable[[], object]) -> Request:
    """The first function that `work` has compiled, and its arguments; conversions of the
    arguments' types, which published files have done by a kernel, do not count."""
    trace = Request.trace

    def stop(request: Request) -> Any:
        if request.fn.fn.__module__ == "opencute.lib.convert":
            return trace(request)
        raise Captured(request)

    Request.trace = stop
    said = io.StringIO()  # published files print what they are asked for
    try:
        with redirect_stdout(said):
            work()
    except Captured as e:
        return e.request
    finally:
        Request.trace = trace
    raise SystemExit(f"{said.getvalue()}\nnothing was compiled")


# ---------------------------------------------------------------- cases
def relu() -> None:
    import relu_2d

    relu_2d.kernel_fn(*relu_2d.get_inputs())


def layer_norm() -> None:
    from opencute.kernels import norm

    x = np.ones((64, 8192), np.float16)
    norm.layer_norm(x, x[0].copy(), x[0].copy())


def softmax() -> None:
    from opencute.kernels import softmax as ours

    ours.softmax(np.ones((64, 8192), np.float16))


def gemm() -> None:
    from opencute.kernels import gemm as ours  # pyright: ignore

    a = np.ones((256, 256), np.float16)
    ours.gemm(a, a)


def published(path: str) -> Any:
    """A published file as a module."""
    root = os.environ.get("OPENCUTE_UPSTREAM")
    assert root, "OPENCUTE_UPSTREAM names the folder with published kernels"
    environment.own_cutlass_first()
    file = Path(root, CUTE, path)
    # Beside the file, and where its helpers are.
    sys.path[:0] = [str(file.parent), str(Path(root, CUTE).parent)]
    return importlib.import_module(file.stem)


def sgemm(static: bool) -> None:
    # The file's flag is the other way round: without it, A's shape is a compile-time value.
    published("ampere/kernel/dense_gemm/sgemm.py").run(
        (4096, 4096, 4096), "m", "n", "n", static_shape=not static
    )


def tensorop() -> None:
    import cutlass

    half = cutlass.Float16
    published("ampere/kernel/dense_gemm/tensorop_gemm.py").run(
        (512, 512, 512, 1), half, half, cutlass.Float32, "m", "n", "n", (2, 2, 1)
    )


def flash(causal: bool) -> None:
    import cutlass

    published("ampere/kernel/attention/flash_attention_v2.py").run(
        cutlass.BFloat16, 1, 256, 256, 1, 128, 0.1, 128, 64, 128, causal
    )


def hopper_gemm() -> None:
    import cutlass

    half = cutlass.Float16
    published("hopper/kernel/dense_gemm/dense_gemm_persistent.py").run(
        (512, 512, 256, 1), half, half, half, cutlass.Float32, "k", "k", "n", (128, 256), (2, 1)
    )


def hopper_fmha(causal: bool) -> None:
    import cutlass

    half, single = cutlass.Float16, cutlass.Float32
    published("hopper/kernel/attention/fmha.py").run(
        (1, 256, 1, 128), (1, 256, 1, 128), half, half, single, single, (64, 128), False, causal,
        False, 1.0, 1.0, 1.0, 1.0, 0.0, (-1, -1), 0.1, 0, 1, True,
    )  # fmt: skip


def own_hopper_gemm() -> None:
    from opencute.kernels import gemm as ours

    a = np.ones((256, 256), np.float16)
    ours.gemm(a, a, config=ours.HopperConfig((128, 256), (2, 1)))


def own_hopper_attention(causal: bool) -> None:
    from opencute.kernels import attention as ours

    q = np.ones((1, 256, 1, 128), np.float16)
    ours.attention(q, q, q, causal=causal)


CASES: dict[str, Callable[[], None]] = {
    "relu_2d": relu,
    "layer_norm": layer_norm,
    "softmax": softmax,
    "gemm": gemm,
    "sgemm": lambda: sgemm(False),
    "sgemm-static": lambda: sgemm(True),
    "tensorop": tensorop,
    "fa2": lambda: flash(False),
    "fa2-causal": lambda: flash(True),
    "own-hopper-gemm": own_hopper_gemm,
    "own-hopper-attention": lambda: own_hopper_attention(False),
    "own-hopper-attention-causal": lambda: own_hopper_attention(True),
    "hopper-gemm": hopper_gemm,
    "hopper-fmha": lambda: hopper_fmha(False),
    "hopper-fmha-causal": lambda: hopper_fmha(True),
}
HOPPER = tuple(n for n in CASES if "hopper" in n)
PUBLISHED = (
    "sgemm", "sgemm-static", "tensorop", "fa2", "fa2-causal", "hopper-gemm", "hopper-fmha",
    "hopper-fmha-causal",
)  # fmt: skip


def chosen(names: list[str]) -> list[str]:
    """The cases to run: those named, or all that there are."""
    if names:
        return names
    made = [n for n in CASES if (ROOT / "src/opencute/kernels" / n).is_dir() or n != "gemm"]
    return [n for n in made if n not in PUBLISHED or "OPENCUTE_UPSTREAM" in os.environ]


# ---------------------------------------------------------------- measuring
@dataclass
class Times:
    """Milliseconds of processor and of wall time by phase, and what came out."""

    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        cpu, wall = _cpu(), time.perf_counter()
        yield
        self.cpu[name] = self.cpu.get(name, 0.0) + (_cpu() - cpu) * 1e3
        self.wall[name] = self.wall.get(name, 0.0) + (time.perf_counter() - wall) * 1e3

    @property
    def total(self) -> float:
        return sum(self.cpu.values())


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def compile_once(request: Request, arch: str, until: str = "ptxas") -> Times:
    """Compile a captured function; the phases are those of the compiler itself."""
    times = Times()
    where, options = target(arch), request.options
    with times.phase("trace"):
        module = request.trace()
    with times.phase("text"):  # for the caches
        text = str(module)
    with times.phase("verify"):
        made = Artefacts(module.regions[0].block.ops[0].symbol or "", module, arch, options)
    with times.phase("passes"):
        lowered = module.clone({})
        records = device_pipeline(where).run(lowered)
    with times.phase("print"):
        ir = device_module_text(lowered, line_info=options.line_info)
    with times.phase("llvm"):
        code = llvm_to_ptx(ir, where)
    times.facts |= {
        "ops": text.count("\n"),
        "llvm lines": ir.count("\n"),
        "ptx lines": code.ptx.count("\n"),
        **{f"pass {r.number} {r.name}": round(r.seconds * 1e3, 1) for r in records},
        **{k: round(v, 1) for k, v in code.timings.items()},
    }
    if until == "ptxas":
        with times.phase("ptxas"):
            made_code = assemble(lambda: code, where, options.opt_level, options.line_info)
        for f in made_code.report.functions:
            spills = f.spill_loads + f.spill_stores
            times.facts[f.name] = {"registers": f.registers, "stack": f.stack, "spills": spills}
    with times.phase("host"):
        assert made.host.llvm_ir
    return times


@paused_gc()
def whole(request: Request, arch: str) -> float:
    """Milliseconds of wall time that all of it takes, as it is done outside of this file."""
    start = time.perf_counter()
    module = request.trace()
    assert outline(module)  # of nothing that was compiled before
    name = module.regions[0].block.ops[0].symbol or ""
    made = Artefacts(name, module, arch, request.options, later=True)
    assert made.make_device(lambda: _ignore(made.host.llvm_ir)).cubin
    assert made.text()  # which was printed meanwhile
    return (time.perf_counter() - start) * 1e3


def _ignore(value: object) -> None:
    """Drop a value that was wanted for being made."""


def arch_of(name: str, asked: str) -> str:
    """The architecture of a case: that asked for, except for kernels of one of them."""
    return "sm_90a" if name in HOPPER else asked


def request_of(name: str, arch: str) -> Request:
    """What a case has compiled, for an architecture."""
    with KNOBS.override(target=f"sim:{arch}"):
        return capture(CASES[name])


def measure(
    name: str, arch: str, repeat: int, until: float = float("inf")
) -> Generator[tuple[str, Times]]:
    """Cold and warm times of a case, as they come: ``cold``, ``warm`` (the best of the repeats),
    ``median`` (of each phase), and the best with ``whole``.

    Args:
        name: the case.
        arch: for which architecture.
        repeat: how often, at most.
        until: when to stop repeating, by `time.monotonic`.
    """
    request = request_of(name, arch)
    yield "cold", compile_once(request, arch)
    warm: list[Times] = []
    ways: list[float] = []
    while len(warm) < repeat and (not warm or time.monotonic() < until):
        warm.append(compile_once(request, arch))
    yield "warm", min(warm, key=lambda t: t.total)
    yield "median", middle(warm)
    while len(ways) < repeat and (not ways or time.monotonic() < until):
        ways.append(whole(request, arch))
    best = min(warm, key=lambda t: t.total)
    best.facts |= {"whole": round(min(ways)), "whole median": round(statistics.median(ways))}
    yield "facts", best


def middle(runs: list[Times]) -> Times:
    """The medians of each phase."""
    return Times(
        {k: statistics.median(t.cpu[k] for t in runs) for k in runs[0].cpu},
        {k: statistics.median(t.wall[k] for t in runs) for k in runs[0].wall},
    )


def profile(name: str, arch: str, rows: int, repeat: int) -> None:
    """Print where warm compilations up to the PTX spend their time.

    By samples: a profiler that counts calls makes short functions look ten times as costly.
    """
    request = request_of(name, arch)
    compile_once(request, arch, "llvm")
    own: collections.Counter[str] = collections.Counter()
    within: collections.Counter[str] = collections.Counter()

    def sample(_: int, frame: types.FrameType | None) -> None:
        stack: list[str] = []
        while frame is not None:
            code = frame.f_code
            stack.append(f"{code.co_filename}:{code.co_firstlineno} {code.co_name}")
            frame = frame.f_back
        own[stack[0]] += 1
        within.update(set(stack))

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, 1e-3, 1e-3)
    for _ in range(repeat):
        compile_once(request, arch, "llvm")
    signal.setitimer(signal.ITIMER_PROF, 0)
    count = own.total()
    for title, counter in (("itself", own), ("with what it calls", within)):
        print(f"{name}: {title}, percent of {count} samples")
        for where, n in counter.most_common(rows):
            print(
                f"  {100 * n / count:5.1f}  {where.replace(str(ROOT / 'src/opencute') + '/', '')}"
            )


def show(name: str, kind: str, times: Times) -> None:
    """One line, at once: whoever has little time left has what was measured until then."""
    if kind == "facts":
        print("   ", "  ".join(f"{k}: {v}" for k, v in times.facts.items()), flush=True)
        return
    phases = "  ".join(f"{k} {v:.0f} [{times.wall[k]:.0f}]" for k, v in times.cpu.items())
    print(f"{name:14} {kind:6}  {times.total:5.0f} ms = {phases}", flush=True)


def table(results: dict[str, dict[str, Times]]) -> None:
    """All cases in a few columns: wall time of all of it, processor time of the phases."""
    columns = ("trace", "passes", "print", "llvm", "ptxas")
    print(f"\n{'ms':28} {'whole':>6} {'median':>6} {'cold':>6}", *(f"{c:>6}" for c in columns))
    for name, kinds in results.items():
        if "facts" not in kinds:
            continue
        best = kinds["facts"]
        row = [best.facts["whole"], best.facts["whole median"], kinds["cold"].total]
        row += [best.cpu[c] for c in columns]
        print(f"{name:28}", *(f"{v:6.0f}" for v in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--only", default="", help="cases as well, with commas between them")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after about that")
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    parser.add_argument("--profile", type=int, metavar="N", help="print the N costliest functions")
    options = parser.parse_args()
    names = options.cases + [n for n in options.only.split(",") if n]
    unknown = [n for n in names if n not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    environment.prepare()
    until = time.monotonic() + options.seconds
    everything: dict[str, dict[str, Times]] = {}
    with KNOBS.override(cache_enabled=False):
        for name in chosen(names):
            if time.monotonic() > until:
                print(f"{name:14} left out: no time", flush=True)
                continue
            arch = arch_of(name, options.arch)
            if options.profile:
                profile(name, arch, options.profile, options.repeat)
                continue
            results = everything.setdefault(name, {})
            for kind, times in measure(name, arch, options.repeat, until):
                results[kind] = times
                show(name, kind, times)
                if options.json:
                    options.json.write_text(json.dumps(everything, indent=1, default=vars))
    table(everything)


if __name__ == "__main__":
    main()
