# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions in PTX."""

from __future__ import annotations

import pytest

from codegen.compiling import assemble, to_ptx
from opencute.base.errors import MissingPieceError
from opencute.codegen.sass import disassemble
from opencute.ir.types import BF16, F16, F32, FLOATS, FloatType
from passes.test_converts import E4M3, E5M2, TF32, convert

pytestmark = pytest.mark.t1


@pytest.mark.parametrize(("dst", "name"), [(E4M3, "e4m3x2"), (E5M2, "e5m2x2")], ids=str)
def test_two_lanes_per_instruction(dst: FloatType, name: str) -> None:
    assert to_ptx(convert(F32, dst, 8)).ptx.count(f"cvt.rn.satfinite.{name}.f32") == 4
    assert to_ptx(convert(dst, F32, 8)).ptx.count(f"cvt.rn.f16x2.{name}") == 4


@pytest.mark.parametrize("dst", [E4M3, E5M2], ids=str)
def test_four_lanes_make_a_word(dst: FloatType) -> None:
    assert to_ptx(convert(F32, dst, 8)).ptx.count("mov.b32 ") >= 2
    assert to_ptx(convert(F32, dst, 6)).ptx.count("cvt.rn.satfinite") == 3
    code = assemble(convert(F32, dst, 16), "sm_90a")
    try:
        text = disassemble(code.cubin)
    except MissingPieceError:
        pytest.skip("no disassembler")
    assert text.count("F2FP") == 8 and not any(x in text for x in ("PRMT", "LOP3", "SHF"))


def test_tf32_and_other_roundings() -> None:
    assert to_ptx(convert(F32, TF32, 4, "rna")).ptx.count("cvt.rna.tf32.f32") == 4
    assert to_ptx(convert(F32, F16, 4, "rz")).ptx.count("cvt.rz.f16.f32") == 4


@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_120a"])
def test_all_assemble(name: str) -> None:
    for src, dst in ((BF16, E4M3), (E5M2, BF16), (F16, TF32)):
        assert assemble(convert(src, dst, 4, "rna" if dst == TF32 else "rn"), name).cubin


NARROW = [t for t in FLOATS.values() if t.width <= 8]


@pytest.mark.parametrize(("name", "count"), [("sm_90a", 0), ("sm_100a", 4), ("sm_120a", 4)])
def test_formats_of_4_bits_use_instructions_where_they_exist(name: str, count: int) -> None:
    f4 = FLOATS["f4E2M1FN"]
    assert to_ptx(convert(F32, f4, 8), name).ptx.count("cvt.rn.satfinite.e2m1x2.f32") == count
    assert to_ptx(convert(f4, F32, 8), name).ptx.count("cvt.rn.f16x2.e2m1x2") == count


@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_every_narrow_format_assembles(narrow: FloatType, name: str) -> None:
    to_and_fro = [(F32, narrow), (narrow, BF16)] if narrow.width > 4 else [(F16, narrow)]
    for src, dst in to_and_fro:
        code = assemble(convert(src, dst, 16), name)
        assert not code.report.function("convert").spill_stores
