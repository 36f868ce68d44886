# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""128-bit integers in registers: the simulator against Python, and machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import elementwise, on_device
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

X = np.array([5, -7, 2**62, -(2**63), 0, -1, 2**63 - 1], np.int64)
Y = np.array([3, 2, -5, 7, 1, -1, 2**63 - 1], np.int64)
LOW = (1 << 64) - 1


def wrap(v: int, signed: bool) -> int:
    v &= (1 << 128) - 1
    return v - (1 << 128) if signed and v >> 127 else v


def body(cls: Any, a: Any, b: Any) -> list[Any]:
    p = cls(a) * cls(b) + 12345
    q, r = p // 1000003, p % 1000003
    values = [p, q, r, p << 50, p >> 50, p & 0xFFFF, p ^ q, cute.math.max(p, q), ~p, -p]
    flags = [p < q, p == r, p >= 0]
    halves = [h for v in values for h in ((v >> 64).to(cutlass.Uint64), v.to(cutlass.Uint64))]
    return [*halves, *(f.to(cutlass.Uint64) for f in flags)]


def expected(a: int, b: int, signed: bool) -> list[int]:
    p = wrap(wrap(a, signed) * wrap(b, signed) + 12345, signed)
    q, r = divmod(p, 1000003)
    values = [p, q, r, p << 50, p >> 50, p & 0xFFFF, p ^ q, max(p, q), ~p, -p]
    halves = [h for v in values for h in ((wrap(v, signed) >> 64) & LOW, v & LOW)]
    return [*halves, int(p < q), int(p == r), int(p >= 0)]


@pytest.mark.t0
@pytest.mark.parametrize("cls", [cutlass.Int128, cutlass.Uint128])
def test_operators(cls: Any) -> None:
    outs = [np.zeros(len(X), np.uint64) for _ in range(23)]
    elementwise(lambda a, b: body(cls, a, b), [X, Y], outs)
    got = np.stack(outs, axis=1).tolist()
    assert got == [expected(a, b, cls.signed) for a, b in zip(X.tolist(), Y.tolist(), strict=True)]


@pytest.mark.t0
def test_floats_and_printing(capsys: Any) -> None:
    out, back = np.zeros(len(X), np.float32), np.zeros(len(X), np.int64)

    def convert(a: Any) -> list[Any]:
        wide = cutlass.Int128(a) << 40
        return [wide.to(cutlass.Float32), (wide.to(cutlass.Float64).to(cutlass.Int128) >> 40).to(
            cutlass.Int64)]  # fmt: skip

    elementwise(convert, [X], [out, back])
    assert out.tolist() == [float(np.float32(x) * np.float32(2.0**40)) for x in X]
    assert back.tolist()[:6] == X.tolist()[:6]
    on_device(lambda t: cute.printf("{}", cutlass.Int128(t[0]) << 64), X[:1].copy())
    assert capsys.readouterr().out == f"0x{5:016x}{0:016x}\n"


@cute.kernel
def _kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    results = body(cutlass.Int128, x[i], y[i])
    for k in cutlass.range_constexpr(len(results)):
        out[i, k] = results[k]


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    _kernel(x, y, out).launch(grid=1, block=7)


@pytest.mark.t1
@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_machine_code(name: str) -> None:
    tensors = [from_dlpack(t) for t in (X, Y, np.zeros((7, 23), np.uint64))]
    with KNOBS.override(target=f"sim:{name}"):
        assert cute.compile(host, *tensors).artefacts.cubin


@pytest.mark.t2
def test_operators_on_a_gpu() -> None:
    out = np.zeros((7, 23), np.uint64)
    with KNOBS.override(target="cuda"):
        host(*[from_dlpack(t) for t in (X, Y, out)])
    assert out.tolist() == [
        expected(a, b, True) for a, b in zip(X.tolist(), Y.tolist(), strict=True)
    ]
