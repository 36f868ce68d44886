# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every MMA and matrix copy record, one instruction each: the simulator against NumPy, and (t2) the
GPU against the simulator, from the same table.

Operands are small integers, so that every sum is exact in every format: a wrong layout gives a
wrong number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.arch.mma import ELEMENT_BITS, MMA_ATOMS, MmaAtom, mma_atom
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.dialects import ptx_matrix
from opencute.lang.vectors import TensorSSA
from opencute.numeric.codec import encode_float
from opencute.numeric.dtypes import DTYPES

WARP_ATOMS = [name for name, r in MMA_ATOMS.items() if r.threads > 1]
PLACES = [
    pytest.param("sim", marks=pytest.mark.t0),
    pytest.param("cuda", marks=pytest.mark.t2),
]
DTYPE = {"e4m3": "f8e4m3fn", "e5m2": "f8e5m2", "s8": "i8", "u8": "u8", "s4": "i4", "u4": "u4"}
REGISTER = {"f32": cutlass.Float32, "f64": cutlass.Float64}


@cute.kernel
def one_mma(name: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor,
            gD: cute.Tensor) -> None:  # fmt: skip
    lane, _, _ = cute.arch.thread_idx()
    a, b, c = (g[lane, None].load() for g in (gA, gB, gC))
    d = ptx_matrix.mma(name, a.value, b.value, c.value)
    gD[lane, None].store(TensorSSA(d, c.shape, c.dtype))


@cute.jit
def launch_mma(name: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor,
               gD: cute.Tensor) -> None:  # fmt: skip
    one_mma(name, gA, gB, gC, gD).launch(grid=1, block=32)


def run(where: str, host: Any, *args: Any) -> None:
    with KNOBS.override(target=where):
        wrapped = [from_dlpack(x) if isinstance(x, np.ndarray) else x for x in args]
        cute.compile(host, *wrapped)(*[w for w in wrapped if not isinstance(w, str)])


def bits_of(values: Any, type: str) -> Any:
    """Integers as the bit patterns of an element type."""
    if type == "b1":
        return values & 1
    name = DTYPE.get(type, type)
    if type in ("tf32", "f32"):
        return values.astype(np.float32).view(np.uint32)
    if type in ("s8", "u8", "s4", "u4"):
        return values & ((1 << ELEMENT_BITS[type]) - 1)
    return encode_float(values.astype(np.float64), DTYPES[name])


def pack(matrix: Any, layout: Any, type: str) -> Any:
    """A matrix as registers, (32, registers)."""
    rows = matrix.shape[0]
    count = layout[1].size()
    places = np.array([[layout(t, v) for v in range(count)] for t in range(32)])
    held = matrix[places % rows, places // rows]
    if type == "f64":
        return held.astype(np.float64)
    if type in ("f32", "s32"):
        return held.astype(np.float32 if type == "f32" else np.int32)
    width = ELEMENT_BITS[type]
    fields = bits_of(held, type).astype(np.uint64).reshape(32, -1, 32 // width)
    shifts = np.arange(32 // width, dtype=np.uint64) * np.uint64(width)
    return (fields << shifts).sum(axis=-1).astype(np.uint32).view(np.int32)


def unpack(registers: Any, layout: Any, type: str, shape: tuple[int, int]) -> Any:
    count = layout[1].size()
    if type == "f16":
        registers = np.ascontiguousarray(registers).view(np.float16)
    out = np.zeros(shape, np.float64)
    for t in range(32):
        for v in range(count):
            place = layout(t, v)
            out[place % shape[0], place // shape[0]] = registers[t, v]
    return out


def operands(r: MmaAtom) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(len(r.name))
    m, n, k = r.mnk
    if r.bit_op:
        return (rng.integers(0, 2, (m, k)), rng.integers(0, 2, (n, k)),
                rng.integers(-5, 5, (m, n)))  # fmt: skip
    low = [0 if t.startswith("u") else -3 for t in r.types[1:3]]
    return (rng.integers(low[0], 4, (m, k)), rng.integers(low[1], 4, (n, k)),
            rng.integers(-5, 5, (m, n)))  # fmt: skip


def expected(r: MmaAtom, a: Any, b: Any, c: Any) -> Any:
    if r.bit_op == "and":
        return a @ b.T + c
    if r.bit_op == "xor":
        return (a[:, None] ^ b[None]).sum(axis=2) + c
    return a @ b.T + c


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", WARP_ATOMS)
def test_mma(where: str, name: str) -> None:
    r = mma_atom(name)
    if where == "cuda":
        skip_unless_supported(r.since)
    a, b, c = operands(r)
    ra, rb, rc = (pack(x, layout, t) for x, layout, t in
                  zip((a, b, c), (r.a, r.b, r.c), r.types[1:], strict=True))  # fmt: skip
    out = np.zeros_like(rc)
    run(where if where == "cuda" else "sim:sm_90a", launch_mma, name, ra, rb, rc, out)
    got = unpack(out, r.c, r.types[0], (r.mnk[0], r.mnk[1]))
    np.testing.assert_array_equal(got, expected(r, a, b, c))


def skip_unless_supported(since: int) -> None:
    from opencute.runtime.device import properties

    major, minor = properties().capability
    if major * 10 + minor < since:
        pytest.skip(f"needs sm_{since}")
