# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host-side costs: import, compile, call; each beside its budget from docs/design.

    python benchmarks/host.py                 # on a machine with a GPU
    python benchmarks/host.py --stub          # without: the driver is a stand-in that counts
    python benchmarks/host.py --only calls

Times are medians of batches. "warm compile" is Python source to loaded code with its host function
when the process has compiled before; the disk cache is off, but for `--only calls`, where the code
of calls comes from it as it does for users. "floor" is the driver's own time for the
same launch: the native host function called in a native loop. With --stub there is no driver in the
times: they are the cost of OpenCuTe alone and comparable only with each other.
"""

import argparse
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]

LOOP = """
define i32 @loop(ptr %host, ptr %slots, i64 %count) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  %r = call i32 %host(ptr %slots)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %count
  br i1 %more, label %head, label %done
done:
  ret i32 %r
}
"""
COLD = """
import sys, time
sys.path[:0] = {paths!r}
start = time.perf_counter()
import host
imported = time.perf_counter()
with host.driver({stub}):
    host.setup({stub})
    fn, make = host.kernels()[{name!r}]
    host.prepare_framework()
    args = make()
    begin = time.perf_counter()
    host.compile_once(fn, args)
    print((time.perf_counter() - begin) * 1e3)
"""
COMPILED = ("relu_2d", "add_2d", "add_tiled_copy", "gelu_3d", "scale_inplace")


def driver(stub):
    """The stand-in for the driver, or nothing."""
    if not stub:
        return nullcontext()
    from opencute.integrations.driver_stub import StubDriver

    return StubDriver(record=False)


def setup(stub, cache=False):
    """Compile for a GPU, with or without the disk cache."""
    from opencute.base.knobs import KNOBS

    KNOBS.overrides["cache_enabled"] = cache
    if stub:
        KNOBS.overrides["target"] = "cuda"


def prepare_framework():
    """torch and its context are not what is measured."""
    import torch

    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")


def import_seconds(statement="import cutlass, cutlass.cute", repeats=7):
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    out = []
    for _ in range(repeats):
        text = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}"
        r = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        out.append(float(r.stdout))
    return statistics.median(out)


def tensors(count, shape=(64, 64), dtype="float16"):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.zeros(shape, device=device, dtype=getattr(torch, dtype)) for _ in range(count)]


def wrap(t):
    from cutlass.cute.runtime import from_dlpack

    return from_dlpack(t, assumed_align=16).mark_layout_dynamic()


def kernels():
    """What is compiled: the function and what makes its arguments."""
    import importlib

    out = {}
    for name in COMPILED:
        module = importlib.import_module(name)
        fn = next(getattr(module, n) for n in ("relu", "add", "gelu", "scale")
                  if hasattr(module, n))  # fmt: skip
        count = {"add_2d": 3, "add_tiled_copy": 3, "scale_inplace": 1}.get(name, 2)
        shape = (8, 64, 64) if name == "gelu_3d" else (64, 64)
        extra = (2.0,) if name == "scale_inplace" else ()

        def make(count=count, shape=shape, extra=extra):
            return [*map(wrap, tensors(count, shape)), *extra]

        out[name] = (fn, make)
    return out


def compile_once(fn, args):
    """Source to loaded code."""
    import cutlass.cute as cute
    from opencute.jit import calls

    calls._runners.clear()
    compiled = cute.compile(fn, *args)
    _ = compiled.__cubin__
    return compiled


def compile_rows(stub, repeats=11):
    """Name, cold milliseconds, warm milliseconds, phases of the last."""
    for name, (fn, make) in kernels().items():
        code = COLD.format(paths=[str(ROOT / "benchmarks")], stub=stub, name=name)
        r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times = []
        for _ in range(repeats):
            args = make()
            start = time.perf_counter()
            compiled = compile_once(fn, args)
            times.append((time.perf_counter() - start) * 1e3)
        phases = compiled.artefacts.device.timings
        yield name, float(r.stdout), statistics.median(times[1:]), phases


def time_call(fn, synchronize, calls=100, batches=21):
    """Median microseconds per call."""
    for _ in range(50):
        fn()
    synchronize()
    out = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        out.append((time.perf_counter() - start) * 1e6 / calls)
        synchronize()
    return statistics.median(out)


def floor(compiled, args, synchronize, calls=100):
    """Microseconds of the driver for one launch."""
    import ctypes

    from opencute.native.jit import compile_host

    runner = compiled._first
    request = compiled._bind(tuple(args), {})
    prepared = runner.prepare(request.values(request.arguments))
    prepared.slots[0] = prepared.stream(prepared.device)
    module = compile_host(LOOP)
    loop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        module.address("loop")
    )
    return time_call(lambda: loop(runner.address, prepared.address, calls), synchronize, 1) / calls


def call_rows():
    """Name, microseconds of host time per call, budget above the floor; None: no budget."""
    import add_2d
    import relu_2d
    import torch

    import cutlass.cute as cute

    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    a, b, c = tensors(3, dtype="float32")
    two, three = [wrap(t) for t in (a, c)], [wrap(t) for t in (a, b, c)]
    relu = cute.compile(relu_2d.relu, *two)
    add = cute.compile(add_2d.add, *three)
    others = [[wrap(t) for t in tensors(3, dtype="float32")] for _ in range(4)]
    turn = iter(range(1 << 60))
    yield "driver's floor (2 tensors)", floor(relu, two, synchronize), None
    yield "driver's floor (3 tensors)", floor(add, three, synchronize), None
    for name, fn, budget in (
        ("prepared call, 2 wrapped tensors", lambda: relu(*two), 0.5),
        ("prepared call, 3 wrapped tensors", lambda: add(*three), 0.6),
        ("prepared call, 4 sets of 3 in turn", lambda: add(*others[next(turn) & 3]), 0.6),
        ("compiled(torch tensors), 2", lambda: relu(a, c), None),
        ("compiled(torch tensors), 3", lambda: add(a, b, c), None),
        ("from_dlpack + mark x2 and call", lambda: relu(wrap(a), wrap(c)), 5),
        ("from_dlpack + mark x3 and call", lambda: add(wrap(a), wrap(b), wrap(c)), None),
        ("from_dlpack + mark, alone", lambda: wrap(a), None),
        ("@jit call, 2 wrapped tensors", lambda: relu_2d.relu(*two), 2),
        ("@jit call, 3 wrapped tensors", lambda: add_2d.add(*three), 2),
        ("@jit call, 3 torch tensors", lambda: add_2d.add(a, b, c), 2),
        ("torch.add(out=), for scale", lambda: torch.add(a, b, out=c), None),
    ):
        yield name, time_call(fn, synchronize), budget


def show_calls():
    base = {}
    for name, us, budget in call_rows():
        tensors_ = 2 if "(2" in name or " 2" in name or "x2" in name else 3
        if "floor" in name:
            base[tensors_] = us
            print(f"{name:40} {us:8.2f} us")
        elif budget is None:
            print(f"{name:40} {us:8.2f} us")
        else:
            over = us - base[tensors_]
            verdict = "within" if over <= budget else "OVER"
            print(f"{name:40} {us:8.2f} us = floor + {over:.2f} ({verdict} floor + {budget})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stub", action="store_true", help="no GPU: a stand-in for the driver")
    parser.add_argument("--only", choices=["import", "compile", "calls"])
    options = parser.parse_args()
    if options.stub:
        print("STUB: no driver in these times; they are OpenCuTe's own cost on this machine")
    with driver(options.stub):
        setup(options.stub, cache=options.only == "calls")
        if options.only in (None, "import"):
            print(f"import cutlass, cutlass.cute: {import_seconds() * 1e3:.0f} ms (budget 300)")
        if options.only in (None, "compile"):
            for name, cold, warm, phases in compile_rows(options.stub):
                parts = ", ".join(f"{p} {ms:.1f}" for p, ms in phases.items())
                print(f"compile {name}: cold {cold:.1f} ms, warm {warm:.1f} ms ({parts})")
        if options.only in (None, "calls"):
            show_calls()


if __name__ == "__main__":
    main()
