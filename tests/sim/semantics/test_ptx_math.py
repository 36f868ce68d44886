# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Directed rounding against exact fractions; byte permutation against its definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.dialects import ptx_math
from opencute.ir.builder import insert_at
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import F32, I32, Type
from opencute.sim import semantics
from opencute.sim.registry import rule_of

pytestmark = pytest.mark.t0
assert semantics.__all__
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def _run(make: Callable[..., Any], types: list[Type], *values: Any) -> Any:
    block = Block(types)
    args: list[Value] = list(block.args)
    with insert_at(block):
        make(*args)
    op: Op = block.ops[-1]
    arrays = [np.array([[v]], np.float32 if t == F32 else np.int32) for v, t in zip(values, types)]  # noqa: B905
    return rule_of(op).factory(op)(*arrays)[0, 0]


def _exact(op: str, a: float, b: float, c: float) -> Fraction:
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    return {"add": x + y, "sub": x - y, "mul": x * y, "fma": x * y + z}[op]


def _rounded(exact: Fraction, rnd: str) -> float:
    """The float32 that `exact` rounds to, by search around the nearest double."""
    try:
        with np.errstate(over="ignore"):
            near = np.float32(float(exact))
    except OverflowError:
        near = np.float32(math.copysign(math.inf, exact))
    with np.errstate(over="ignore"):
        around = [near, *(np.nextafter(near, np.float32(d)) for d in (-math.inf, math.inf))]
    finite = [x for x in around if np.isfinite(x)]
    below = [x for x in finite if Fraction(float(x)) <= exact]
    above = [x for x in finite if Fraction(float(x)) >= exact]
    down = max(below) if below else np.float32(-math.inf)
    up = min(above) if above else np.float32(math.inf)
    if rnd == "rz":
        rnd = "rm" if exact > 0 else "rp"
    return float(down if rnd == "rm" else up)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(ptx_math.ROUNDED), st.sampled_from(("rm", "rp", "rz")), floats, floats, floats
)
def test_directed_rounding(op: str, rnd: str, a: float, b: float, c: float):
    n = 3 if op == "fma" else 2
    found = _run(lambda *v: ptx_math.rounded(op, rnd, *v), [F32] * n, *(a, b, c)[:n])
    exact = _exact(op, a, b, c)
    if exact:
        assert float(found) == _rounded(exact, rnd)
    else:
        assert found == 0


@settings(max_examples=60, deadline=None)
@given(floats, floats, floats)
def test_nearest_is_the_fused_one(a: float, b: float, c: float):
    found = _run(lambda *v: ptx_math.rounded("fma", "rn", *v), [F32] * 3, a, b, c)
    exact = _exact("fma", a, b, c)
    if abs(exact) < Fraction(2) ** 127:
        down, up = _rounded(exact, "rm"), _rounded(exact, "rp")
        assert found in (down, up)
        gap = abs(Fraction(float(found)) - exact)
        assert all(gap <= abs(Fraction(x) - exact) for x in (down, up) if math.isfinite(x))


def test_zeros_have_the_sign_of_the_mode():
    def run(rnd: str, a: float, b: float) -> float:
        return math.copysign(1, _run(lambda *v: ptx_math.rounded("add", rnd, *v), [F32] * 2, a, b))

    assert run("rn", 1.0, -1.0) == 1 and run("rm", 1.0, -1.0) == -1
    assert run("rn", -0.0, -0.0) == -1 and run("rp", 0.0, -0.0) == 1


def test_subnormals_are_flushed_where_asked():
    tiny = 2.0**-130
    keep = _run(lambda *v: ptx_math.rounded("add", "rn", *v), [F32] * 2, tiny, 0.0)
    flushed = _run(lambda *v: ptx_math.rounded("add", "rn", *v, ftz=True), [F32] * 2, tiny, 0.0)
    assert float(keep) == tiny and flushed == 0
    assert _run(ptx_math.rcp_approx, [F32], 4.0) == 0.25
    assert _run(ptx_math.rcp_approx, [F32], 2.0**127) == 0


@settings(max_examples=60, deadline=None)
@given(*[st.integers(0, 2**32 - 1)] * 3)
def test_prmt(a: int, b: int, selector: int):
    as_int = [int(np.uint32(v).view(np.int32)) for v in (a, b, selector)]
    found = int(np.int32(_run(ptx_math.prmt, [I32] * 3, *as_int)).view(np.uint32))
    data = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = data[nibble & 7]
        want = (255 if byte >> 7 else 0) if nibble & 8 else byte
        assert found >> 8 * i & 255 == want
