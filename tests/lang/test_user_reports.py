# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of the field reported about numbers, vectors and printing, as tests by number.

Others stand where they belong: 2584 and 3382 in test_vectors_differential, 2711 in
values/test_conversion, 2695 and 3002 in test_printing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.cute.runtime import from_dlpack

SOURCES = Path(__file__).resolve().parents[2] / "src"


@cute.kernel
def _mixed(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, m: cutlass.Int64):
    i, _, _ = cute.arch.thread_idx()
    x = a[i]  # 64 bits
    y = b[i]  # 32 bits
    out[i, 0] = cute.where(x > 2, x, y)
    out[i, 1] = x if y > 0 else y
    out[i, 2] = min(x, y, n)
    out[i, 3] = max(y, m)
    out[i, 4] = cutlass.min(n, m) + i
    z = y
    if x > 2:
        z = x
    out[i, 5] = z


@cute.jit
def _mixed_host(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor, n: cutlass.Int32,
                m: cutlass.Int64):  # fmt: skip
    _mixed(a, b, out, n, m).launch(grid=1, block=4)


@pytest.mark.t0
@pytest.mark.parametrize("dynamic", [False, True])
def test_pytorch_188871_widths_mix(dynamic: bool) -> None:
    """where() and its like promote 32 and 64 bits, whether shapes are static or not."""
    a = np.array([1 << 40, -5, 2, 7], np.int64)
    b = np.array([3, -4, 0, 9], np.int32)
    out = np.zeros((4, 6), np.int64)
    tensors = [from_dlpack(t) for t in (a, b, out)]
    if dynamic:
        tensors = [t.mark_layout_dynamic() for t in tensors]
    n, m = 6, 1 << 35
    _mixed_host(*tensors, cutlass.Int32(n), cutlass.Int64(m))
    rows = [
        [x if x > 2 else y, x if y > 0 else y, min(x, y, n), max(y, m), min(n, m) + i,
         x if x > 2 else y]
        for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))
    ]  # fmt: skip
    assert out.tolist() == rows


@pytest.mark.t0
def test_pytorch_188871_vectors_of_two_widths() -> None:
    a, b = np.array([1 << 40, -5], np.int64), np.array([3, -4], np.int32)
    out = np.zeros((3, 2), np.int64)

    def body(x: Any, y: Any, o: Any) -> None:
        v, w = x.load(), y.load()
        o[0, None].store(cute.where(v > 0, v, w))
        o[1, None].store(cute.math.max(v, w))
        o[2, None].store(cute.where(w > 0, w, cutlass.Int64(1 << 33)))

    on_device(body, a, b, out)
    assert out.tolist() == [[1 << 40, -4], [1 << 40, -4], [3, 1 << 33]]


PRINTING = """
import numpy as np, sys
import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

@cute.kernel
def kernel(x: cute.Tensor, k: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] + 1
    if i == 0:
        cute.printf("kernel %d of {} %f".replace("{}", "50"), k, x[0])
        cute.print_tensor(x)

@cute.jit
def host(x: cute.Tensor):
    cute.printf("host begins")
    for k in cutlass.range_constexpr(50):
        kernel(x, k).launch(grid=1, block=4)

with KNOBS.override(target=sys.argv[1]):
    x = np.zeros(4, np.float32)
    print("before")
    cute.compile(host, from_dlpack(x))(from_dlpack(x))
    # No wait for the device here: what was printed must come out at exit.
"""


def printed_by_a_program(target: str, tmp_path: Path) -> list[str]:
    program = tmp_path / "program.py"
    program.write_text(PRINTING)
    done = subprocess.run([sys.executable, str(program), target], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": str(SOURCES)})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]


def check_lines(lines: list[str]) -> None:
    kernels = [line for line in lines if line.startswith("kernel")]
    assert kernels == [f"kernel {k} of 50 {k + 1:f}" for k in range(50)]
    assert sum(line.startswith("tensor(raw_ptr") for line in lines) == 50
    assert lines[:2] == ["before", "host begins"]


@pytest.mark.t0
def test_2331_2442_nothing_printed_is_lost(tmp_path: Path) -> None:
    check_lines(printed_by_a_program("sim", tmp_path))


@pytest.mark.t2
def test_2331_2442_nothing_printed_is_lost_on_a_gpu(tmp_path: Path) -> None:
    check_lines(printed_by_a_program("cuda", tmp_path))


@pytest.mark.t0
def test_2631_a_tensor_prints_after_a_copy(capsys: Any) -> None:
    x = np.arange(8, dtype=np.float16)

    def body(t: Any) -> None:
        r = cute.make_rmem_tensor(8, cutlass.Float16)
        cute.autovec_copy(t, r)
        cute.print_tensor(r)
        cute.print_tensor(t)

    on_device(body, x)
    out = capsys.readouterr().out
    assert out.count("[ 7.000000, ])") == 2 and "f16, rmem" in out and "f16, gmem" in out
