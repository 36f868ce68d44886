# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that is printed is read back; everything else is a CompileError in its place."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.samples import SAMPLES, modules
from opencute.base.errors import CompileError
from opencute.base.location import Location
from opencute.dialects.cute import Dyn, LayoutAttr, PtrType
from opencute.ir.attributes import (
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseAttr,
    DenseI32Attr,
    DialectAttr,
    DictAttr,
    FloatAttr,
    IntAttr,
    StringAttr,
    SymbolAttr,
    TypeAttr,
    round_float,
)
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.types import (
    F32,
    FLOATS,
    I1,
    I8,
    I32,
    I64,
    INDEX,
    FunctionType,
    IntegerType,
    NoneType,
    Type,
    VectorType,
)
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0

floats = st.sampled_from(list(FLOATS.values()))
integers = st.integers(1, 128).map(IntegerType)
elements = st.one_of(floats, integers)
layouts = st.sampled_from(["8:1", "(8,1):(1,?{i64 div=8})", "((2,2),3):((1,2),?)", "():()"])
pointers = st.builds(
    PtrType, elements, st.sampled_from(["gmem", "smem", "rmem"]), st.sampled_from([1, 16])
)
types: st.SearchStrategy[Type] = st.one_of(
    elements,
    st.builds(VectorType, st.integers(1, 64), st.one_of(elements, pointers)),
    pointers,
    st.sampled_from([INDEX, NoneType()]),
)


@st.composite
def numbers(draw: st.DrawFn) -> Attribute:
    type = draw(st.one_of(elements, st.just(INDEX)))
    if type in FLOATS.values():
        assert type != INDEX
        value = draw(st.floats(width=32))
        rounded = round_float(value, type)  # type: ignore[arg-type]
        return FloatAttr(rounded, type)  # type: ignore[arg-type]
    width = 64 if type == INDEX else type.width  # type: ignore[union-attr]
    if width == 1:
        return BoolAttr(draw(st.booleans()))
    half = 1 << (width - 1)
    return IntAttr(draw(st.integers(-half, half - 1)), type)


attributes: st.SearchStrategy[Attribute] = st.recursive(
    st.one_of(
        numbers(),
        st.text().map(StringAttr),
        st.just(UNIT),
        types.map(TypeAttr),
        st.builds(
            lambda a, b: TypeAttr(FunctionType(tuple(a), tuple(b))),
            st.lists(types, max_size=3),
            st.lists(types, max_size=3),
        ),
        st.lists(st.text(min_size=1), min_size=1, max_size=3).map(lambda p: SymbolAttr(tuple(p))),
        st.lists(st.integers(-(2**31), 2**31 - 1)).map(lambda v: DenseI32Attr(tuple(v))),
        st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda v: DenseI32Attr(tuple(v), 64)),
        layouts.map(LayoutAttr.parse),
        st.sampled_from([DialectAttr("arith", "fastmath<nnan,contract>"), DialectAttr("a", "b.c")]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: ArrayAttr(tuple(v))),
        st.dictionaries(st.text(min_size=1), inner, max_size=3).map(
            lambda d: DictAttr(tuple(sorted(d.items())))
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(values=st.dictionaries(st.text(min_size=1), attributes, max_size=4))
def test_attributes_come_back(values: dict[str, Attribute]):
    op = Op("test.op", (), (), values)
    again = parse(print_op(op))
    assert again.attributes == values
    assert print_op(again) == print_op(op)


@settings(max_examples=100, deadline=None)
@given(ins=st.lists(types, max_size=4))
def test_types_come_back(ins: list[Type]):
    op = Op("test.op", (), ins)
    assert [r.type for r in parse(print_op(op)).results] == ins


places = st.builds(
    Location,
    st.text(),
    st.integers(0, 10**6),
    st.integers(0, 500),
    st.one_of(st.none(), st.integers(0, 500)),
    st.text(),
)


@settings(max_examples=50, deadline=None)
@given(chain=st.lists(places, min_size=1, max_size=4))
def test_locations_come_back(chain: list[Location]):
    loc = None
    for place in chain:
        loc = Location(place.file, place.line, place.col, place.end_col, place.function, loc)
    op = Op("test.op", loc=loc)
    assert parse(print_op(op, locations=True)).loc == loc


def test_deep_chains_of_calls_come_back():
    loc = Location("f.py", 1)
    for i in range(3000):
        loc = Location("f.py", i, caller=loc)
    text = print_op(Op("test.op", loc=loc), locations=True)
    again = parse(text).loc
    count = 0
    while again is not None:
        again, count = again.caller, count + 1
    assert count == 3001


@pytest.mark.parametrize("name", sorted(FLOATS))
def test_every_special_float_comes_back(name: str):
    type = FLOATS[name]
    for value in (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 1e-3):
        attr = FloatAttr(round_float(value, type), type)
        again = parse(print_op(Op("test.op", attributes={"x": attr}))).attributes["x"]
        assert again == attr
        assert str(again) == str(attr)


def test_numbers_are_brought_into_their_type():
    text = '"a.b"() {a = 255 : i8, b = 0.1 : f32, c = 0xFF : i8, d = 1 : i1, e = 7} : () -> ()'
    found = parse(text).attributes
    assert found["a"] == found["c"] == IntAttr(-1, I8)
    assert found["b"] == FloatAttr(0.10000000149011612, F32)
    assert found["d"] == BoolAttr(True) == IntAttr(1, I1)
    assert found["e"] == IntAttr(7, I64)


def test_constant_vectors():
    text = (
        '"a.b"() {a = dense<[1, -2]> : vector<2xi32>, b = dense<true> : vector<4xi1>, '
        "c = dense<0x7F800000> : vector<1xf32>} : () -> ()"
    )
    found = parse(text).attributes
    v2 = VectorType(2, I32)
    assert found["a"] == DenseAttr((IntAttr(1, I32), IntAttr(-2, I32)), v2)
    assert found["b"] == DenseAttr((BoolAttr(True),), VectorType(4, I1))
    assert found["c"] == DenseAttr((FloatAttr(math.inf, F32),), VectorType(1, F32))


def test_properties_results_by_number_and_comments():
    op = parse(
        """// leading
        "a.c"() ({ // inside
          %r:2 = "a.b"() <{x = 1 : i32}> {y} : () -> (i32, f32)
          "a.d"(%r#1, %r#0) : (f32, i32) -> () loc("f":1:2)
        }) : () -> ()   // trailing"""
    )
    first, second = op.regions[0].block.ops
    assert first.attributes == {"x": IntAttr(1, I32), "y": UNIT}
    assert second.operands == [first.results[1], first.results[0]]


def test_layouts_of_dialects_are_read_by_their_dialect():
    op = parse('"a.b"() {l = #cute.layout<"(8,1):(1,?{i64 div=2})">} : () -> ()')
    assert op.attributes["l"] == LayoutAttr((8, 1), (1, Dyn(64, 2)))


def test_errors_show_the_line():
    with pytest.raises(CompileError) as e:
        parse('"a.c"() ({\n  "a.b"(%x) : (i32) -> ()\n}) : () -> ()')
    assert str(e.value) == (
        "[OC1042] line 2, column 9: %x is not defined before this use\n"
        '  --> <ir>:2\n   |  "a.b"(%x) : (i32) -> ()\n   |        ^^'
    )


@pytest.mark.parametrize(
    "opening", ["{x = [", "{x = {y = ", "{x = vector<4x", "{x = (", '({"a.b"()']
)
def test_no_depth_exhausts_the_stack(opening: str):
    text = '"a.b"() ' + opening.removeprefix('"a.b"() ') * 5000
    with pytest.raises(CompileError):
        parse(text)


@pytest.mark.parametrize("text", ["(" * 9000, "?{" * 9000, "9" * 9000 + ":1", "(" * 9000 + ":1"])
def test_no_layout_exhausts_the_stack(text: str):
    with pytest.raises(CompileError) as e:
        parse(f'"a.b"() {{x = #cute.layout<"{text}">}} : () -> ()')
    assert e.value.code == "OC1046"


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet='"%^@#!()<>[]{}:=,->?*0x19.e\n ai3f'))
def test_garbage_is_a_compile_error(text: str):
    with pytest.raises(CompileError):
        parse(text)


PIECES = [
    "%x", "(", ")", "{", "}", "<", ">", "[", "]", ":", "->", ",", "=", '"', "?", "^bb0", "loc",
    "vector<", "!cute.ptr<", "#cute.layout<", "-1", "0x7F", "1.0e40", "99999999999999999999",
    "dense<", "array<i32", "::", "@", "i0", "callsite(", " at ", "\\", "\x00", "é", "//",
]  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """A text with pieces removed, repeated, swapped and put in."""
    for _ in range(rng.randint(1, 4)):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + rng.randint(0, 12))
        text = rng.choice(
            [
                text[:i] + text[j:],
                text[:j] + text[i:],
                text[:i] + rng.choice(PIECES) + text[j:],
                text[:i] + text[i:j][::-1] + text[j:],
            ]
        )
    return text


@pytest.mark.parametrize("seed", range(8))
def test_mutated_modules_are_read_or_refused(seed: int):
    rng = random.Random(seed)
    names = sorted(SAMPLES)
    read = 0
    for _ in range(150):
        name = rng.choice(names)
        text = print_op(rng.choice(modules(name)), locations=True)
        changed = mutated(text, rng)
        try:
            op = parse(changed)
        except CompileError as e:
            assert e.loc is not None
            continue
        read += 1
        again = print_op(op, locations=True)
        assert print_op(parse(again), locations=True) == again
        try:
            verify(op)
        except CompileError:
            continue
    assert read > 0
