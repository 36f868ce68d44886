# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every pair of float formats, over all patterns of the narrow side, in packed memory.

The same kernel runs in the simulator here and on a GPU; both must give the bits that
`opencute.numeric.convert` defines. A NaN of a format with several is compared as a NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.lang.numbers import NUMERIC_CLASSES
from opencute.numeric.convert import convert_bits, decode
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.packing import pack, unpack
from passes.conversions import patterns

FLOATS = [t for t in DTYPES.values() if t.is_float and t.name != "tf32"]
PAIRS = [(s, d) for s in FLOATS for d in FLOATS if s is not d and min(s.width, d.width) <= 8]
LANES, BLOCK = 16, 64
MODES: Any = {None: None, "rz": "rtz", "rm": "rd", "rp": "ru", "rna": "rna"}


@cute.kernel
def _kernel(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, types: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * BLOCK + tidx
    src, dst, rounding, saturate = types
    if i * LANES < n:
        a = cute.make_tensor(
            cute.recast_ptr(x.iterator, dtype=cutlass.Uint8) + i * (LANES * src.width // 8),
            cute.make_layout(LANES * src.width // 8),
        )
        b = cute.make_tensor(
            cute.recast_ptr(out.iterator, dtype=cutlass.Uint8) + i * (LANES * dst.width // 8),
            cute.make_layout(LANES * dst.width // 8),
        )
        v = a.load().bitcast(src)
        b.store(v.to(dst, rounding=rounding, saturate=saturate).bitcast(cutlass.Uint8))


@cute.jit
def _host(x: cute.Tensor, out: cute.Tensor, n: cutlass.Int32, grid: cutlass.Constexpr,
          types: cutlass.Constexpr):  # fmt: skip
    _kernel(x, out, n, types).launch(grid=grid, block=BLOCK)


def check(target: str, src: DType, dst: DType, rounding: Any = None, saturate: Any = None) -> None:
    bits = patterns(src)
    bits = np.resize(bits, -(-len(bits) // LANES) * LANES)
    raw = pack(bits, src)
    out = np.zeros(len(bits) * dst.width // 8, np.uint8)
    classes = tuple(NUMERIC_CLASSES[t.name] for t in (src, dst))
    grid = -(-len(bits) // (LANES * BLOCK))
    with KNOBS.override(target=target):
        args = [from_dlpack(raw, assumed_align=16), from_dlpack(out, assumed_align=16)]
        _host(*args, cutlass.Int32(len(bits)), grid, (*classes, rounding, saturate))
    got = unpack(out, dst, len(bits))
    want = convert_bits(bits, src, dst, MODES[rounding], saturate)
    bad = got != want
    if dst.width >= 16:
        bad &= ~(np.isnan(decode(got, dst)) & np.isnan(decode(want, dst)))
    rows = [f"{bits[i]:#x} -> {got[i]:#x}, not {want[i]:#x}" for i in np.flatnonzero(bad)[:8]]
    assert not bad.any(), f"{bad.sum()} of {len(bad)} differ: {rows}"


def ids(x: Any) -> str:
    return str(x)


@pytest.mark.t0
@pytest.mark.parametrize(("src", "dst"), PAIRS[::7], ids=ids)
def test_in_the_simulator(src: DType, dst: DType) -> None:
    """A sample; tests/passes/test_narrow.py has all of them, closer to the machine."""
    check("sim", src, dst)


@pytest.mark.t2
@pytest.mark.parametrize(("src", "dst"), PAIRS, ids=ids)
def test_on_a_gpu(src: DType, dst: DType) -> None:
    check("cuda", src, dst)


@pytest.mark.t2
@pytest.mark.parametrize("saturate", [False, True], ids=["inf", "sat"])
@pytest.mark.parametrize("rounding", ["rz", "rm", "rp", "rna"])
@pytest.mark.parametrize("dst", [t for t in FLOATS if t.width < 32], ids=ids)
def test_roundings_on_a_gpu(dst: DType, rounding: str, saturate: bool) -> None:
    for src in ("f32", "f64"):
        check("cuda", DTYPES[src], dst, rounding, saturate)


@pytest.mark.t1
@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize(("src", "dst"), [("f32", "f4e2m1fn"), ("f6e3m2fn", "f8e4m3fn"),
                                          ("f8e8m0fnu", "bf16")])  # fmt: skip
def test_assembles(src: str, dst: str, name: str) -> None:
    x, out = (from_dlpack(np.zeros(1024, np.uint8), assumed_align=16) for _ in range(2))
    classes = tuple(NUMERIC_CLASSES[t] for t in (src, dst))
    with KNOBS.override(target=f"sim:{name}"):
        made = cute.compile(_host, x, out, cutlass.Int32(16), 1, (*classes, None, None))
    assert made.artefacts.cubin
    assert "local" not in made.artefacts.sass or made.artefacts.sass.count("STL") == 0
