# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions in integer arithmetic, in the simulator and on the CPU, against the definition.

The definition, `opencute.numeric.convert`, is checked against ml_dtypes where it is tested.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codegen.on_cpu import CpuKernel
from opencute.numeric.convert import convert_bits, decode
from opencute.numeric.dtypes import DTYPES, DType
from opencute.passes.expand import expand
from passes.conversions import FLOATS, bits_kernel, patterns
from passes.simulated import apply, run

NARROW = [t for t in FLOATS if t.width <= 8]
MODES: Any = {"rn": "rne", "rz": "rtz", "rna": "rna", "rm": "rd", "rp": "ru"}
PAIRS = [(s, d) for s in FLOATS for d in FLOATS if s is not d]
LANES = 16


def same(got: Any, want: Any, dst: DType) -> None:
    """Bit for bit, but for which NaN a format of 16 bits and more has."""
    bad = got != want
    if dst.width >= 16:
        bad &= ~(np.isnan(decode(got, dst)) & np.isnan(decode(want, dst)))
    assert not bad.any(), [(int(i), hex(got[i]), hex(want[i])) for i in np.flatnonzero(bad)[:5]]


def ids(x: Any) -> str:
    return str(x)


def simulate(src: DType, dst: DType, rounding: str, saturate: bool, name: str) -> None:
    bits = patterns(src)
    want = convert_bits(bits, src, dst, MODES[rounding], saturate)
    signed = np.dtype(f"i{src.container_bits // 8}")
    out = np.zeros(len(bits), f"i{dst.container_bits // 8}")
    args = [bits.view(signed), out]
    module = bits_kernel(src, dst, len(bits), rounding, saturate)
    same(run(module, 1, 1, args)[1].view(dst.bits_dtype), want, dst)
    lowered = apply(module, expand, name=name)
    same(run(lowered, 1, 1, args)[1].view(dst.bits_dtype), want, dst)


@pytest.mark.t0
@pytest.mark.parametrize(("src", "dst"), PAIRS, ids=ids)
def test_every_pair_in_the_simulator(src: DType, dst: DType) -> None:
    simulate(src, dst, "rna" if dst.name == "tf32" else "rn", dst.width <= 8, "sm_80")


@pytest.mark.t0
@pytest.mark.parametrize("saturate", [False, True], ids=["inf", "sat"])
@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("dst", [t for t in FLOATS if t.width < 64], ids=ids)
def test_every_rounding_in_the_simulator(dst: DType, rounding: str, saturate: bool) -> None:
    for src in ("f32", "f64"):
        if src != dst.name:
            simulate(DTYPES[src], dst, rounding, saturate, "sm_80")


def on_cpu(src: DType, dst: DType, n: int, rounding: str, saturate: bool) -> None:
    kernel = CpuKernel(bits_kernel(src, dst, n, rounding, saturate))
    bits = patterns(src)
    bits = np.resize(bits, -(-len(bits) // n) * n)
    out = np.zeros(len(bits), dst.bits_dtype)
    for i in range(0, len(bits), n):
        kernel(bits[i : i + n], out[i : i + n])
    same(out, convert_bits(bits, src, dst, MODES[rounding], saturate), dst)


@pytest.mark.t1
@pytest.mark.parametrize("src", NARROW, ids=ids)
def test_machine_code_from_narrow_formats(src: DType) -> None:
    for dst in FLOATS:
        # This CPU has no instruction for bf16, and tf32 needs PTX.
        if dst is not src and dst.name not in ("tf32", "bf16"):
            on_cpu(src, dst, LANES, "rn", dst.width <= 8)


@pytest.mark.t1
@pytest.mark.parametrize("dst", NARROW, ids=ids)
def test_machine_code_to_narrow_formats(dst: DType) -> None:
    for src in ("f16", "bf16", "f32", "f64"):
        on_cpu(DTYPES[src], dst, LANES, "rn", True)


@pytest.mark.t1
@pytest.mark.parametrize("rounding", ["rz", "rna", "rm", "rp"])
def test_machine_code_of_other_roundings(rounding: str) -> None:
    for dst in ("f4e2m1fn", "f6e3m2fn", "f8e5m2", "f8e8m0fnu"):
        on_cpu(DTYPES["f32"], DTYPES[dst], LANES, rounding, False)
    for dst in ("f32", "f16", "bf16", "tf32"):
        on_cpu(DTYPES["f64"], DTYPES[dst], LANES, rounding, True)


@pytest.mark.t1
@pytest.mark.parametrize("n", range(1, 17))
def test_machine_code_of_every_length(n: int) -> None:
    """Also issue 3382 of the field: two f32 to f8 vanished in a vector of two."""
    for src, dst in (("f32", "f8e4m3fn"), ("f4e2m1fn", "f16"), ("f32", "f4e2m1fn"),
                     ("f6e2m3fn", "f32")):  # fmt: skip
        on_cpu(DTYPES[src], DTYPES[dst], n, "rn", DTYPES[dst].width <= 8)


@pytest.mark.t0
@pytest.mark.parametrize("dst", ["f8e4m3fn", "f4e2m1fn", "f16", "bf16", "f32"])
def test_stochastic_rounding(dst: str) -> None:
    """It lands on a neighbour, and on the upper one as often as the number is close to it."""
    src, to = DTYPES["f64" if dst == "f32" else "f32"], DTYPES[dst]
    rng = np.random.default_rng(1)
    n = 4000
    value = 1.0 + 0.3 * 2.0**-to.mantissa_bits
    bits = np.full(n, value, src.numpy_dtype).view(src.bits_dtype)
    random = rng.integers(0, 1 << 32, n, np.uint64).astype(np.uint32).view(np.int32)
    out = np.zeros(n, f"i{to.container_bits // 8}")
    module = bits_kernel(src, to, n, "rs", True, random=True)
    args = [bits.view(f"i{src.container_bits // 8}"), out, random]
    got = run(module, 1, 1, args)[1]
    again = run(apply(module, expand, name="sm_80"), 1, 1, args)[1]
    assert (got == again).all()
    values = decode(got.view(to.bits_dtype), to)
    assert set(values.tolist()) == {1.0, 1.0 + 2.0**-to.mantissa_bits}
    assert abs((values > 1).mean() - 0.3) < 0.05


@pytest.mark.t0
@pytest.mark.parametrize("name", ["arith.sitofp", "arith.uitofp"])
@pytest.mark.parametrize("width", [32, 64])
def test_integers_to_bf16_round_once(width: int, name: str) -> None:
    """sm_80 has the conversion by way of f32 only, which rounds twice."""
    from codegen.samples import kernel_module
    from opencute.dialects import arith, cute
    from opencute.ir.types import BF16, IntegerType

    rng = np.random.default_rng(9)
    picks = [0, 1, (1 << 24) + (1 << 16) + 1, 33554432 + (1 << 17), 33554433 + (1 << 17), -1]
    picks += [(1 << k) + (1 << max(k - 8, 0)) + d for k in range(width) for d in (-1, 0, 1)]
    picks += rng.integers(0, 1 << 32, 500).tolist()
    mask = (1 << width) - 1
    x = (
        np.array([p & mask for p in picks], np.uint64)
        .astype(f"u{width // 8}")
        .view(f"i{width // 8}")
    )
    layout = cute.LayoutAttr(len(x), 1)

    def body(a: Any, c: Any) -> None:
        cute.tile_store(arith.cast(name[6:], cute.tile_load(a, layout), BF16), c, layout)

    types = [cute.PtrType(t, "gmem", 16) for t in (IntegerType(width), BF16)]
    module = kernel_module("convert", types, body, 1)
    out = np.zeros(len(x), DTYPES["bf16"].numpy_dtype)
    kind = DTYPES[f"{'i' if name == 'arith.sitofp' else 'u'}{width}"]
    want = convert_bits(x.view(f"u{width // 8}"), kind, DTYPES["bf16"])
    for sm in ("sm_80", "sm_90a"):
        lowered = apply(module.clone({}), expand, name=sm)
        has = any(op.name == name and op.results[0].type == _bf16(len(x)) for op in lowered.walk())
        assert has == (sm == "sm_90a")
        got = run(lowered, 1, 1, [x, out])[1].view(np.uint16)
        assert (got == want).all()


def _bf16(n: int) -> Any:
    from opencute.ir.types import BF16, VectorType

    return VectorType(n, BF16)
