# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions between 128-bit integers and floats, and such integers in memory: the simulator's own
rule, what `wide` makes of it, and the exact arithmetic of Python agree."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from codegen.on_cpu import CpuKernel
from codegen.samples import kernel_module
from opencute import cute as dsl
from opencute.base.errors import TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.dialects import arith, cute
from opencute.ir.core import Op, Value
from opencute.ir.parser import parse
from opencute.ir.types import BF16, F16, F32, F64, FloatType, IntegerType
from opencute.passes.integers.wide import wide
from passes.simulated import apply, run

pytestmark = pytest.mark.t1

I128 = IntegerType(128)
FLOATS: dict[FloatType, Any] = {
    F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64,
}  # fmt: skip
MANTISSA = {F16: 11, BF16: 8, F32: 24, F64: 53}
LARGEST = {F16: 65504.0, BF16: 3.3895313892515355e38, F32: float(np.finfo(np.float32).max),
           F64: float(np.finfo(np.float64).max)}  # fmt: skip
N = 256
FEW = 4  # numbers at once in machine code: LLVM takes a minute for 256


def casts(name: str, float_type: FloatType, count: int = N) -> Op:
    def body(a: Value, c: Value) -> None:
        layout = cute.LayoutAttr(count, 1)
        to = I128 if name.startswith("fpto") else float_type
        cute.tile_store(arith.cast(name, cute.tile_load(a, layout), to), c, layout)

    types = [I128, float_type] if name.endswith("tofp") else [float_type, I128]
    return kernel_module("cast", [cute.PtrType(t, "gmem", 16) for t in types], body, 1)


def integers() -> list[int]:
    rng = random.Random(7)
    out = [0, 1, -1, (1 << 127) - 1, -(1 << 127), 1 << 64, (1 << 64) - 1, 1 << 63]
    while len(out) < N:
        n = rng.randrange(1, 128)
        x = rng.getrandbits(n)
        if rng.random() < 0.6:  # near a tie of some format
            keep = rng.choice(list(MANTISSA.values()))
            if n > keep + 1:
                half = 1 << (n - keep - 1)
                x = (x | 1 << (n - 1)) & -(half << 1) | half
                x += rng.choice([-1, 0, 0, 1])
        out.append(x if rng.random() < 0.5 else -x)
    return [(x + (1 << 127)) % (1 << 128) - (1 << 127) for x in out]


def words(numbers: list[int]) -> Any:
    mask = (1 << 64) - 1
    return np.array([[x & mask, x >> 64 & mask] for x in numbers], np.uint64)


def numbers(array: Any, *, signed: bool) -> list[int]:
    raw = [int(lo) | int(hi) << 64 for lo, hi in array.tolist()]
    return [x - (1 << 128) if signed and x >> 127 else x for x in raw]


def rounded(x: int, t: FloatType) -> float:
    """To nearest even, in exact arithmetic."""
    size, drop = abs(x), max(abs(x).bit_length() - MANTISSA[t], 0)
    low, half = size & ((1 << drop) - 1), 1 << drop >> 1
    size = size >> drop
    size += drop > 0 and (low > half or (low == half and size & 1 == 1))
    exact = size << drop
    return float(exact if x >= 0 else -exact) if exact <= LARGEST[t] else np.copysign(np.inf, x)


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["sitofp", "uitofp"])
def test_integers_round_once(name: str, t: FloatType) -> None:
    xs = integers()
    args = (words(xs), np.zeros(N, FLOATS[t]))
    before = run(casts(name, t), 1, 1, args)[1]
    after = run(apply(casts(name, t), wide), 1, 1, args)[1]
    exact = [rounded(x if name == "sitofp" else x % (1 << 128), t) for x in xs]
    assert before.astype(np.float64).tolist() == exact
    assert after.astype(np.float64).tolist() == exact


@pytest.mark.parametrize("t", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["sitofp", "uitofp"])
def test_machine_code_rounds_once(name: str, t: FloatType) -> None:
    xs = integers()
    source, out = words(xs), np.zeros(N, FLOATS[t])
    cast = CpuKernel(casts(name, t, FEW))
    for i in range(0, N, FEW):
        cast(source[i : i + FEW], out[i : i + FEW])
    exact = [rounded(x if name == "sitofp" else x % (1 << 128), t) for x in xs]
    assert out.astype(np.float64).tolist() == exact


def whole(x: float, low: int, high: int) -> int:
    if np.isnan(x):
        return 0
    if np.isinf(x):
        return high if x > 0 else low
    return min(max(int(Fraction(x)), low), high)


@pytest.mark.parametrize("t", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["fptosi", "fptoui"])
def test_floats_are_cut_and_limited(name: str, t: FloatType) -> None:
    rng = np.random.default_rng(3)
    values = np.exp2(rng.uniform(-4, 130, N)) * rng.choice([-1, 1], N)
    values[:12] = [0, -0.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 2.0**127, -(2.0**127), 2.0**64,
                   2.0**128, 2.0**63]  # fmt: skip
    with np.errstate(over="ignore"):
        x = values.astype(FLOATS[t])
    args = (x, np.zeros((N, 2), np.uint64))
    signed = name == "fptosi"
    before = numbers(run(casts(name, t), 1, 1, args)[1], signed=signed)
    after = numbers(run(apply(casts(name, t), wide), 1, 1, args)[1], signed=signed)
    low, high = (-1 << 127, (1 << 127) - 1) if signed else (0, (1 << 128) - 1)
    exact = [whole(float(v), low, high) for v in x]
    assert before == exact
    assert after == exact


@dsl.kernel
def all_memories(o: dsl.Tensor, fields: cutlass.Constexpr):
    i = dsl.arch.thread_idx()[0]
    t = dsl.recast_tensor(o, cutlass.Int128)
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int128, dsl.make_layout(4), 16)
    r = dsl.make_rmem_tensor(2, cutlass.Int128)
    s[i] = (cutlass.Int128(i) - 2) << 70
    r.fill(s[i])
    r[1] = r[0] * 3 + 1
    v = r.load() + 1
    if i > 2:
        v = v - v
    t[i] = v[1]
    member = cutlass.utils.SmemAllocator().allocate(fields)
    if i == 0:
        member.wide = t[0] + 5
        t[4] = member.wide
        dsl.autovec_copy(dsl.make_tensor(t.iterator, dsl.make_layout(2)), r)
        t[5] = r[1]


@dsl.jit
def run_all_memories(o: dsl.Tensor, fields: cutlass.Constexpr):
    all_memories(o, fields).launch(grid=1, block=4)


def test_in_every_memory() -> None:
    @dsl.struct
    class Fields:
        small: cutlass.Int32
        wide: cutlass.Int128

    o = np.zeros(12, np.int64)
    with KNOBS.override(target="sim"):
        run_all_memories(from_dlpack(o, assumed_align=16), Fields)
        compiled = dsl.compile(run_all_memories, from_dlpack(o, assumed_align=16), Fields)
        assert "v2.b64" in compiled.__ptx__ or "v2.u64" in compiled.__ptx__
        assert compiled.__cubin__
    first = [((i - 2) << 70) * 3 + 2 for i in range(3)] + [0]
    assert numbers(o.view(np.uint64).reshape(-1, 2), signed=True) == [
        *first, first[0] + 5, first[1]
    ]  # fmt: skip


def conversions(o: Any, x: Any) -> None:
    wide_ = cutlass.Int128(x[0]) << 64 | cutlass.Int128(x[1])
    o[0] = wide_.to(cutlass.Float64)
    o[1] = wide_.to(cutlass.Float32).to(cutlass.Float64)
    o[2] = wide_.to(cutlass.TFloat32).to(cutlass.Float32).to(cutlass.Float64)
    o[3] = wide_.to(cutlass.Float16).to(cutlass.Float64)
    o[4] = (cutlass.Uint128(o[0] * o[0]) >> 80).to(cutlass.Float64)
    o[5] = wide_.to(cutlass.Float32, rounding="rz").to(cutlass.Float64)


def test_as_users_write_it() -> None:
    @dsl.kernel
    def kernel(o: dsl.Tensor, x: dsl.Tensor):
        conversions(o, x)

    @dsl.jit
    def host(o: dsl.Tensor, x: dsl.Tensor):
        kernel(o, x).launch(grid=1, block=1)

    o, x = np.zeros(8), np.array([0x3FFFFF, 0x7FFF_FFFF_FFFF_FFFF], np.int64)
    value = int(x[0]) << 64 | int(x[1])
    for name in ("sim:sm_80", "sim:sm_90a"):
        with KNOBS.override(target=name):
            compiled = dsl.compile(host, from_dlpack(o), from_dlpack(x))
            compiled(from_dlpack(o), from_dlpack(x))
            assert compiled.__cubin__
    assert o[0] == float(value)
    assert o[1] == float(np.float32(float(value)))
    assert o[2] == 2.0**86
    assert np.isinf(o[3])
    assert o[4] == float(int(float(value) ** 2) >> 80) or o[4] == float(((1 << 128) - 1) >> 80)
    assert o[5] == float(value >> 62 << 62)
    o[:] = 0
    with KNOBS.override(target="sim:sm_80"):
        text = str(dsl.compile(host, from_dlpack(o), from_dlpack(x)).__mlir__)
    assert parse(text).walk()


def test_what_has_no_conversion_says_so() -> None:
    @dsl.kernel
    def kernel(o: dsl.Tensor):
        i = cutlass.Int128(dsl.arch.thread_idx()[0])
        o[0] = i.to(cutlass.Float64, rounding="rz")

    @dsl.jit
    def host(o: dsl.Tensor):
        kernel(o).launch(grid=1, block=1)

    with KNOBS.override(target="sim"), pytest.raises(TypeMismatchError, match="OC1246"):
        host(from_dlpack(np.zeros(2)))
