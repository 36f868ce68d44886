# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Spelling, equality and rounding of attributes."""

from __future__ import annotations

import math

import pytest

from opencute.ir.attributes import (
    BoolAttr,
    DenseI32Attr,
    DictAttr,
    FloatAttr,
    IntAttr,
    StringAttr,
    SymbolAttr,
    attribute_name,
    float_from_bits,
    quote,
    round_float,
)
from opencute.ir.lexer import unquote
from opencute.ir.types import BF16, F16, F32, F64, FLOATS, I1, I32, FunctionType, VectorType

pytestmark = pytest.mark.t0


@pytest.mark.parametrize("text", ["", "plain", 'q"\\', "\n\t\0", "é∀", "\ud800", "100%"])
def test_quoting_comes_back(text: str):
    literal = quote(text)
    assert literal.isascii() and literal.isprintable()
    assert unquote(literal) == text


def test_names_are_quoted_where_mlir_needs_it():
    assert [attribute_name(n) for n in ("a_1", "cute.use_pdl", "1a", "é", "a b", "")] == [
        "a_1", "cute.use_pdl", '"1a"', '"\\C3\\A9"', '"a b"', '""',
    ]  # fmt: skip
    assert str(SymbolAttr(("kernels", "a b"))) == '@kernels::@"a b"'
    assert str(DictAttr((("a b", IntAttr(1)),))) == '{"a b" = 1 : i64}'


def test_a_bool_is_an_integer_of_one_bit():
    assert BoolAttr(True) == IntAttr(1, I1) != BoolAttr(False)
    assert hash(BoolAttr(True)) == hash(IntAttr(1, I1))
    assert isinstance(BoolAttr(True), IntAttr) and BoolAttr(True).type == I1
    assert IntAttr(1, I1) != IntAttr(1, I32)
    assert str(BoolAttr(False)) == str(IntAttr(0, I1)) == "false"


def test_floats_are_equal_as_bits():
    assert FloatAttr(0.0, F32) != FloatAttr(-0.0, F32)
    assert FloatAttr(math.nan, F32) == FloatAttr(math.nan, F32)
    assert hash(FloatAttr(math.nan, F32)) == hash(FloatAttr(math.nan, F32))
    assert FloatAttr(1.0, F32) != FloatAttr(1.0, F64)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"), (1e30, "1.0e+30"), (1.5e-7, "1.5e-07"), (-0.0, "-0.0"),
        (math.inf, "0x7F800000"), (-math.inf, "0xFF800000"), (math.nan, "0x7FFFFFFF"),
    ],
)  # fmt: skip
def test_float_literals(value: float, text: str):
    assert FloatAttr(value, F32).text() == text


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (0.1, "f32", 0.10000000149011612), (1e39, "f32", math.inf), (-1e39, "f32", -math.inf),
        (65520.0, "f16", math.inf), (2049.0, "f16", 2048.0), (257.0, "bf16", 256.0),
        (0.1, "f64", 0.1), (1000.0, "f8E4M3FN", 448.0), (5.0, "f4E2M1FN", 4.0),
    ],
)  # fmt: skip
def test_rounding_to_a_type(value: float, name: str, expected: float):
    found = round_float(value, FLOATS[name])
    assert found == expected or (math.isnan(found) and math.isnan(expected))


def test_bits_of_floats():
    assert float_from_bits(0x3F80, BF16) == 1.0
    assert float_from_bits(0x3C00, F16) == 1.0
    with pytest.raises(ValueError, match="wider"):
        float_from_bits(0x10000, F16)


def test_other_spellings():
    assert str(DenseI32Attr(())) == "array<i32>"
    assert str(DenseI32Attr((1, -2), 64)) == "array<i64: 1, -2>"
    assert str(StringAttr("a")) == '"a"'
    assert str(FunctionType((I32,), (F32,))) == "(i32) -> f32"
    assert str(FunctionType((), (F32, VectorType(2, F16)))) == "() -> (f32, vector<2xf16>)"
