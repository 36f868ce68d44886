# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host-side costs: import, compile, call.

    python benchmarks/host.py

Times are medians. "warm compile" is Python source to loaded code with its host function, for a
small kernel, when the process has compiled before; the disk cache is off.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]


def import_seconds(statement="import cutlass, cutlass.cute", repeats=7):
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    env_path = str(ROOT / "src")
    out = []
    for _ in range(repeats):
        r = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {env_path!r}); {code}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        out.append(float(r.stdout))
    return statistics.median(out)


def compile_times(repeats=15):
    """Cold and warm milliseconds of compiling examples/relu_2d.py, and the phases of the last."""
    import numpy as np
    import relu_2d

    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack
    from opencute.base.knobs import KNOBS
    from opencute.jit import calls

    KNOBS.overrides["cache_enabled"] = False
    try:
        import torch

        cuda = torch.cuda.is_available()
    except ImportError:
        cuda = False
    if cuda:
        make = lambda: torch.randn(64, 64, device="cuda", dtype=torch.float16)  # noqa: E731
    else:
        make = lambda: np.zeros((64, 64), np.float16)  # noqa: E731
    a, b = (from_dlpack(make(), assumed_align=16).mark_layout_dynamic() for _ in range(2))
    times = []
    for _ in range(repeats):
        calls._runners.clear()
        t = time.perf_counter()
        compiled = cute.compile(relu_2d.relu, a, b)
        _ = compiled.__cubin__
        times.append((time.perf_counter() - t) * 1e3)
    return times[0], statistics.median(times[1:]), compiled


def call_times(repeats=2000):
    """Median microseconds of host time per call of examples/add_2d.py, by how it is called."""
    import add_2d
    import torch

    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    a, b, c = (torch.randn(64, 64, device="cuda") for _ in range(3))
    wrap = lambda t: from_dlpack(t, assumed_align=16).mark_layout_dynamic()  # noqa: E731
    args = [wrap(t) for t in (a, b, c)]
    compiled = cute.compile(add_2d.add, *args)
    cases = {
        "prepared call, wrapped tensors": lambda: compiled(*args),
        "from_dlpack of three tensors and call": lambda: compiled(wrap(a), wrap(b), wrap(c)),
        "@jit call": lambda: add_2d.add(*args),
        "torch.add(out=)": lambda: torch.add(a, b, out=c),
    }
    out = {}
    for name, fn in cases.items():
        count = repeats if "@jit" not in name else 50
        for _ in range(10):
            fn()
        torch.cuda.synchronize()
        batches = []
        for _ in range(20):
            t = time.perf_counter()
            for _ in range(count // 20):
                fn()
            batches.append((time.perf_counter() - t) * 1e6 / (count // 20))
            torch.cuda.synchronize()
        out[name] = statistics.median(batches)
    return out


def main():
    print(f"import cutlass: {import_seconds() * 1e3:.0f} ms")
    cold, warm, compiled = compile_times()
    print(f"compile relu_2d: cold {cold:.1f} ms, warm {warm:.1f} ms")
    for phase, ms in compiled.artefacts.device.timings.items():
        print(f"    {phase}: {ms:.2f} ms")
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        for name, us in call_times().items():
            print(f"{name}: {us:.1f} us")


if __name__ == "__main__":
    main()
