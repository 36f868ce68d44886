# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Warps against a plain model, one thread after the other, written from the PTX manual."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import UninitializedError
from opencute.dialects import arith, ptx_warp
from opencute.ir.types import F32, I1, I32, I64, Type
from sim.building import ptr
from sim.sync.blocks import add, at, bid, choose, const, eq, load, lt, mul, run, store, tid, when

pytestmark = pytest.mark.t0

P = ptr(I32, 4)
LANES = range(32)


def s32(x: int) -> int:
    return ((x + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


# ---------------------------------------------------------------------- shuffles
def shfl(mode: str, values: list[int], b: int, c: int) -> list[tuple[int, bool]]:
    """The pseudocode of the manual, lane by lane."""
    out = []
    for lane in LANES:
        bval, cval, segment = b & 31, c & 31, (c >> 8) & 31
        most = (lane & segment) | (cval & ~segment & 31)
        least = lane & segment
        if mode == "up":
            j = lane - bval
            p = j >= most
        elif mode == "down":
            j = lane + bval
            p = j <= most
        elif mode == "bfly":
            j = lane ^ bval
            p = j <= most
        else:
            j = least | (bval & ~segment & 31)
            p = j <= most
        out.append((values[j if p else lane], p))
    return out


WIDTHS = st.sampled_from([1, 2, 4, 8, 16, 32])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ptx_warp.SHFL_MODES), st.integers(0, 63), WIDTHS, st.integers(0, 31))
def test_shuffles(mode: str, b: int, width: int, clamp: int) -> None:
    c = (32 - width) << 8 | (0 if mode == "up" else clamp)

    def body(out: Any) -> None:
        value = add(mul(tid(), const(7)), bid())
        got, inside = ptx_warp.shfl_sync(mode, const(-1), value, const(b), const(c))
        base = mul(bid(), const(128))
        store(got, out, add(base, tid()))
        store(arith.cast("extui", inside, I32), out, add(base, add(tid(), const(64))))

    out = np.zeros((2, 2, 64), np.int32)
    run([P], body, [out], grid=2, block=64, check=False)
    for block in range(2):
        for warp in range(2):
            values = [7 * (warp * 32 + lane) + block for lane in LANES]
            want = shfl(mode, values, b, c)
            part = out[block, :, warp * 32 : warp * 32 + 32]
            assert part[0].tolist() == [v for v, _ in want]
            assert part[1].tolist() == [int(p) for _, p in want]


def test_a_source_of_its_own_for_each_lane() -> None:
    def body(out: Any) -> None:
        src = arith.binary("andi", mul(tid(), const(5)), const(31))
        x = arith.cast("sitofp", tid(), F32)
        got, _ = ptx_warp.shfl_sync("idx", const(-1), x, src, const(31))
        store(arith.cast("fptosi", got, I32), out, tid())

    out = np.zeros(64, np.int32)
    run([P], body, [out], check=False)
    lane = np.arange(64)
    np.testing.assert_array_equal(out, lane // 32 * 32 + lane * 5 % 32)


def test_a_tree_with_shuffles() -> None:
    def body(x: Any, out: Any) -> None:
        value = load(x, add(mul(bid(), const(64)), tid()))
        for step in (16, 8, 4, 2, 1):
            other, _ = ptx_warp.shfl_sync("bfly", const(-1), value, const(step), const(31))
            value = arith.binary("addf", value, other)
        store(value, out, add(mul(bid(), const(64)), tid()))

    x = np.arange(5 * 64, dtype=np.float32)
    out = np.zeros_like(x)
    run([ptr(F32, 4)] * 2, body, [x, out], grid=5)
    np.testing.assert_array_equal(out, np.repeat(x.reshape(-1, 32).sum(1), 32))


def test_a_lane_that_takes_no_part_gives_garbage() -> None:
    """Lanes 0 to 15 ask each other, or lane 20, which is somewhere else."""

    def body(src: int) -> Any:
        def build(out: Any) -> None:
            def ask() -> Any:
                got, _ = ptx_warp.shfl_sync("idx", const(0xFFFF), tid(), const(src), const(31))
                return got

            got = choose(lt(tid(), 16), ask, lambda: const(-1))
            store(got, out, tid())

        return build

    out = np.zeros(32, np.int32)
    run([P], body(3), [out], block=32, check=False)
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 16, 3, -1))
    with pytest.raises(UninitializedError, match="a store to memory") as e:
        run([P], body(20), [out], block=32, check=False)
    assert "the value of lane 20, which the mask of ptx.shfl_sync" in str(e.value)


def test_a_short_warp() -> None:
    """Threads that do not exist are not waited for, and give garbage."""

    def body(step: int) -> Any:
        def build(out: Any) -> None:
            got, _ = ptx_warp.shfl_sync("down", const(-1), tid(), const(step), const(31))
            when(lt(tid(), 8), lambda: store(got, out, tid()))

        return build

    out = np.zeros(8, np.int32)
    run([P], body(4), [out], block=12)
    np.testing.assert_array_equal(out, np.arange(8) + 4)
    with pytest.raises(UninitializedError, match="names lanes 12 to 31, which did not come"):
        run([P], body(5), [out], block=12)


def test_threads_that_ended_are_not_waited_for() -> None:
    def body(out: Any) -> None:
        def rest() -> None:
            got = ptx_warp.vote_sync("ballot", const(-1), arith.constant(1, I1))
            store(got, out, tid())

        when(lt(tid(), 20), rest)

    out = np.zeros(64, np.int32)
    run([P], body, [out])
    assert (out[:20] == (1 << 20) - 1).all() and not out[20:].any()


# ---------------------------------------------------------------------- votes, matches, reductions
GROUPS = st.integers(0, 2**32 - 1)


def masked(op: Any, group: int, values: np.ndarray, type: Type, results: int) -> np.ndarray:
    """Run `op(mask, value)` for two parts of a warp, which come by different branches."""

    def body(x: Any, member: Any, out: Any) -> None:
        value = load(x, tid())
        if type == I1:
            value = arith.cmpi("ne", value, const(0))
        inside = arith.cmpi("ne", load(member, tid()), const(0))

        def part(mask: int) -> Any:
            def build() -> None:
                for i, r in enumerate(op(const(s32(mask)), value)):
                    r = arith.cast("extui", r, I32) if r.type == I1 else r
                    r = arith.cast("bitcast", r, I32) if r.type == F32 else r
                    store(r, out, add(tid(), const(32 * i)))

            return build

        when(inside, part(group), part(~group & 0xFFFFFFFF))

    members = np.array([group >> lane & 1 for lane in LANES], np.int32)
    element = {I1: I32}.get(type, type)
    out = np.zeros((results, 32), np.int32)
    align = values.dtype.itemsize
    run([ptr(element, align), P, P], body, [values, members, out], block=32, check=False)
    return out


def parts(group: int) -> list[list[int]]:
    return [[l for l in LANES if (group >> l & 1) == side] for side in (1, 0)]


@settings(max_examples=40, deadline=None)
@given(GROUPS, GROUPS, st.sampled_from(ptx_warp.VOTE_MODES))
def test_votes(group: int, preds: int, mode: str) -> None:
    values = np.array([preds >> l & 1 for l in LANES], np.int32)
    out = masked(lambda m, v: [ptx_warp.vote_sync(mode, m, v)], group, values, I1, 1)[0]
    for lanes in parts(group):
        held = [bool(values[l]) for l in lanes]
        want = {
            "all": all(held), "any": any(held), "uni": len(set(held)) <= 1,
            "ballot": s32(sum(1 << l for l in lanes if values[l])),
        }[mode]  # fmt: skip
        assert all(out[l] == want for l in lanes)


@settings(max_examples=40, deadline=None)
@given(GROUPS, st.lists(st.integers(-2, 1), min_size=32, max_size=32), st.booleans(), st.booleans())
def test_matches(group: int, items: list[int], every: bool, wide: bool) -> None:
    type, dtype = (I64, np.int64) if wide else (I32, np.int32)
    values = np.array(items, dtype) * (1 << 33 if wide else 1)
    mode = "all" if every else "any"
    out = masked(lambda m, v: ptx_warp.match_sync(mode, m, v), group, values, type, 2)
    for lanes in parts(group):
        for l in lanes:
            if every:
                same = len({items[k] for k in lanes}) == 1
                want = sum(1 << k for k in lanes) if same else 0
            else:
                want = sum(1 << k for k in lanes if items[k] == items[l])
            assert out[0, l] == s32(want) and out[1, l] == (want != 0)


INTS = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=32, max_size=32)


@settings(max_examples=40, deadline=None)
@given(GROUPS, INTS, st.sampled_from(ptx_warp.REDUX_OPS[:6]), st.booleans())
def test_integer_reductions(group: int, items: list[int], op: str, unsigned: bool) -> None:
    values = np.array(items, np.int32)
    out = masked(
        lambda m, v: [ptx_warp.redux_sync(op, m, v, unsigned=unsigned)], group, values, I32, 1
    )[0]
    for lanes in parts(group):
        if not lanes:
            continue
        bits = [items[l] & 0xFFFFFFFF if unsigned else items[l] for l in lanes]
        want = bits[0]
        for b in bits[1:]:
            want = {
                "add": want + b, "min": min(want, b), "max": max(want, b), "and": want & b,
                "or": want | b, "xor": want ^ b,
            }[op]  # fmt: skip
        assert all(out[l] == s32(want) for l in lanes)


FLOATS = st.lists(
    st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, math.nan, math.inf])),
    min_size=32, max_size=32,
)  # fmt: skip


def bits_of(x: float) -> int:
    return s32(0x7FFFFFFF if math.isnan(x) else struct.unpack("<I", struct.pack("<f", x))[0])


@settings(max_examples=40, deadline=None)
@given(GROUPS, FLOATS, st.booleans(), st.booleans(), st.booleans())
def test_float_reductions(
    group: int, items: list[float], least: bool, absolute: bool, nan: bool
) -> None:
    values = np.array(items, np.float32)
    op = "fmin" if least else "fmax"
    out = masked(
        lambda m, v: [ptx_warp.redux_sync(op, m, v, abs=absolute, nan=nan)], group, values, F32, 1
    )[0]
    for lanes in parts(group):
        if not lanes:
            continue
        known = [abs(items[l]) if absolute else items[l] for l in lanes]
        numbers = [x for x in known if not math.isnan(x)]
        # The sign of a zero counts.
        order = sorted(numbers, key=lambda x: (x, math.copysign(1, x)))
        want = (order[0] if least else order[-1]) if order else math.nan
        if nan and len(numbers) < len(known):
            want = math.nan
        assert all(out[l] == bits_of(want) for l in lanes)


def test_elect_and_activemask() -> None:
    def body(out: Any) -> None:
        def part(mask: int) -> Any:
            def build() -> None:
                leader, elected = ptx_warp.elect_sync(const(mask))
                store(leader, out, tid())
                store(arith.cast("extui", elected, I32), out, add(tid(), const(32)))
                store(ptx_warp.activemask(), out, add(tid(), const(64)))

            return build

        when(lt(tid(), 20), part(0xFFFFF), part(s32(0xFFF00000)))

    out = np.zeros((3, 32), np.int32)
    run([P], body, [out], block=32)
    low = np.arange(32) < 20
    np.testing.assert_array_equal(out[0], np.where(low, 0, 20))
    np.testing.assert_array_equal(out[1], np.isin(np.arange(32), [0, 20]))
    np.testing.assert_array_equal(out[2], np.where(low, 0xFFFFF, s32(0xFFF00000)))


def test_one_warp_of_several() -> None:
    """Warps that part come to a shuffle on their own, in one loop."""

    def body(out: Any) -> None:
        def mine() -> None:
            got, _ = ptx_warp.shfl_sync("idx", const(-1), tid(), const(5), const(31))
            store(got, out, tid())

        when(eq(arith.binary("andi", tid(), const(32)), 0), mine)

    out = np.full(128, -1, np.int32)
    run([P], body, [out], block=128)
    warps = out.reshape(4, 32)
    assert (warps[0] == 5).all() and (warps[2] == 69).all() and (warps[[1, 3]] == -1).all()


assert at
