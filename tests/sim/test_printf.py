# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Formats against the C library's own printf."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import SimulationError
from opencute.ir.core import Op
from opencute.ir.types import F32, F64, I1, I8, I32, I64, VectorType
from opencute.sim.printf import Format

pytestmark = pytest.mark.t0
OP = Op("cute.print")


def c_printf(text: str, *args: Any) -> str:
    libc = ctypes.CDLL(None)
    out = ctypes.create_string_buffer(1000)
    libc.snprintf(out, 1000, text.encode(), *args)
    return out.value.decode()


def ours(text: str, types: list[Any], *values: Any) -> str:
    return Format(OP, text, types)(values)


flags = st.sets(st.sampled_from("-+ 0")).map("".join)
width = st.one_of(st.just(""), st.integers(1, 20).map(str))
precision = st.one_of(st.just(""), st.just("."), st.integers(0, 12).map(lambda n: f".{n}"))


@settings(max_examples=60, deadline=None)
@given(flags, width, precision, st.sampled_from("diuxXo"), st.integers(-(1 << 31), (1 << 31) - 1))
def test_integers(f: str, w: str, p: str, kind: str, value: int) -> None:
    text = f"<%{f}{w}{p}{kind}>"
    assert ours(text, [I32], value) == c_printf(text, ctypes.c_int(value))


@settings(max_examples=60, deadline=None)
@given(flags, width, precision, st.sampled_from("fFeEgGa"), st.floats(width=64))
def test_floats(f: str, w: str, p: str, kind: str, value: float) -> None:
    if kind == "a":
        p = ""
    text = f"<%{f}{w}{p}{kind}>"
    if value != value:
        value = abs(value)
    assert ours(text, [F64], value) == c_printf(text, ctypes.c_double(value))


@given(
    st.sampled_from(["%lld", "%llu", "%llx", "%ld", "%lu"]), st.integers(-(1 << 63), (1 << 63) - 1)
)
def test_wide_integers(text: str, value: int) -> None:
    assert ours(text, [I64], value) == c_printf(text, ctypes.c_longlong(value))


def test_the_rest() -> None:
    assert (
        ours("%c|%5c|%s|%p|100%%\n", [I32, I8, I32, I64], 65, 66, 7, 255) == "A|    B|7|0xff|100%\n"
    )
    assert ours("%d %u", [I1, I1], True, True) == "1 1"
    assert ours("%u", [I32], -1) == "4294967295"
    assert ours("%.3f", [F32], 2.5) == "2.500"


@pytest.mark.parametrize(
    ("text", "types"),
    [("%d", []), ("none", [I32]), ("%y", [I32]), ("%*d", [I32]), ("%d", [VectorType(2, I32)])],
)
def test_formats_that_do_not_fit(text: str, types: list[Any]) -> None:
    with pytest.raises(SimulationError, match="OC3007"):
        Format(OP, text, types)
