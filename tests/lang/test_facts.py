# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is claimed of a run-time integer holds for the value that the kernel computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import NUMPY, on_device
from opencute import cute

pytestmark = pytest.mark.t0

CLASSES = [cutlass.Int8, cutlass.Int16, cutlass.Int32, cutlass.Int64, cutlass.Uint8,
           cutlass.Uint16, cutlass.Uint32, cutlass.Uint64]  # fmt: skip
NUMBERS = st.one_of(st.integers(0, 64), st.sampled_from([-1, -6, 96, 1000, 1 << 19, 1664525]))
LEAVES = st.one_of(
    st.sampled_from(["tid", "loaded", "extent", "even", "byte"]),
    st.tuples(st.just("int"), NUMBERS),
    st.tuples(st.just("typed"), st.sampled_from(CLASSES), NUMBERS),
)
SYMBOLS = ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "min", "max"]


def trees() -> st.SearchStrategy[Any]:
    return st.recursive(
        LEAVES,
        lambda t: st.one_of(
            st.tuples(st.sampled_from(SYMBOLS), t, t),
            st.tuples(st.just("to"), st.sampled_from(CLASSES), t),
        ),
        max_leaves=6,
    )


def evaluate(tree: Any, env: dict[str, Any]) -> Any:
    if isinstance(tree, str):
        return env[tree]
    head, *rest = tree
    if head == "int":
        return rest[0]
    if head == "typed":
        return rest[0](rest[1])
    if head == "to":
        x = evaluate(rest[1], env)
        return x.to(rest[0]) if isinstance(x, cutlass.Numeric) else rest[0](x)
    a, b = (evaluate(t, env) for t in rest)
    if head in ("//", "%"):
        b = (b & 7) + 1
        return a // b if head == "//" else a % b
    if head in ("<<", ">>"):
        b = b & 3
        return a << b if head == "<<" else a >> b
    if head in ("min", "max"):
        return getattr(cutlass, head)(a, b) if not plain(a, b) else {"min": min, "max": max}[head](
            a, b
        )  # fmt: skip
    if head == "+":
        return a + b
    if head == "-":
        return a - b
    if head == "*":
        return a * b
    return a & b if head == "&" else a | b if head == "|" else a ^ b


def plain(*xs: Any) -> bool:
    return not any(isinstance(x, cutlass.Numeric) for x in xs)


THREADS = 5


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=trees(), loaded=st.integers(-(1 << 31), (1 << 31) - 1), extent=st.integers(1, 40))
def test_facts_hold_and_values_agree_with_concrete_numbers(
    tree: Any, loaded: int, extent: int
) -> None:
    loads = np.array([loaded], np.int32)
    sized = np.zeros(extent * 4, np.int32)
    claims: list[tuple[int, bool, tuple[int, int]]] = []

    def body(out: Any, load: Any, sized: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        n = cute.assume(cute.size(sized), 4)
        env = {"tid": i, "loaded": load[0], "extent": n, "even": i * 6,
               "byte": load[0].to(cutlass.Uint8)}  # fmt: skip
        x = evaluate(tree, env)
        x = x if isinstance(x, cutlass.Numeric) else cutlass.Int64(x)
        claims.append((x.div, x.nonneg, x.rest or (1, 0)))
        out[i] = x

    first = evaluate(tree, _env(0, loaded, extent))
    cls = type(first) if isinstance(first, cutlass.Numeric) else cutlass.Int64
    out = np.zeros(THREADS, NUMPY[cls])
    on_device(body, out, loads, sized, block=THREADS, dynamic=True)
    div, nonneg, (step, rest) = claims[-1]
    for i, got in enumerate(out.tolist()):
        want = evaluate(tree, _env(i, loaded, extent))
        want = want if isinstance(want, cutlass.Numeric) else cutlass.Int64(want)
        assert got == want.value and type(want) is cls
        assert got % div == 0, (got, div)
        assert got % step == rest, (got, step, rest)
        assert not nonneg or 0 <= got < 1 << (cls.width - 1), got


def _env(i: int, loaded: int, extent: int) -> dict[str, Any]:
    tid = cutlass.Int32(i)
    return {"tid": tid, "loaded": cutlass.Int32(loaded), "extent": cutlass.Int32(extent * 4),
            "even": tid * 6, "byte": cutlass.Int32(loaded).to(cutlass.Uint8)}  # fmt: skip


def test_index_arithmetic_keeps_facts() -> None:
    seen: dict[str, Any] = {}

    def body(t: Any) -> None:
        tid, bid, dim = (f()[0] for f in (cute.arch.thread_idx, cute.arch.block_idx,
                                          cute.arch.block_dim))  # fmt: skip
        idx = bid * dim + tid
        seen["idx"] = (idx * 8 + 4).div, idx.nonneg
        seen["quotient"] = (idx * 8 // 4).div, (idx // 4).nonneg, (idx % 4).nonneg
        seen["hash"] = (idx * 1664525 + 1013904223).nonneg
        seen["wide"] = (cutlass.Int64(idx) * 4096).div, cutlass.Int64(idx).nonneg
        seen["sub"] = (idx - 4).nonneg
        t[0] = idx

    on_device(body, np.zeros(1, np.int32))
    assert seen == {"idx": (4, True), "quotient": (2, True, True), "hash": False,
                    "wide": (4096, True), "sub": False}  # fmt: skip


def test_what_division_leaves_is_known_of_a_sum_with_a_constant() -> None:
    """As of the buffer that one of eight tiles goes to, which four buffers take in turn."""
    seen: dict[str, Any] = {}

    def body(out: Any, m: Any) -> None:
        tiles = cute.arch.thread_idx()[0] * 8
        seen["turns"] = [(tiles + turn) % 4 for turn in range(6)]
        seen["down"], seen["further"] = (tiles - 3) % 8, (5 - (tiles + 1) + tiles * 3) % 4
        seen["unknown"] = [(tiles + 1) % 3, (tiles + 1) % 16, (tiles + m[0]) % 4]
        # The multiple may wrap, and then only powers of two still divide it.
        seen["wraps"] = [(m[0] * 6 + 1) % 6, (m[0] * 6 + 1) % 2]
        out[0] = seen["unknown"][0]

    on_device(body, np.zeros(1, np.int32), np.array([1 << 30], np.int32))
    assert [x.value for x in seen["turns"]] == [0, 1, 2, 3, 0, 1]
    assert (seen["down"].value, seen["further"].value) == (5, 0)
    assert all(x.is_dynamic for x in seen["unknown"])
    assert [x.is_dynamic for x in seen["wraps"]] == [True, False] and seen["wraps"][1].value == 1


def test_user_values_wrap_and_divide_as_signed_numbers() -> None:
    """A value that is not negative keeps no fact through a sum that may wrap."""
    loads = np.array([0x7FFFFFFF, 65536, 1 << 30], np.int32)

    def body(out: Any, m: Any) -> None:
        t = cute.arch.thread_idx()[0]
        top, square = m[0] & 0x7FFFFFFF, cutlass.max(m[1], 1)
        out[0] = (top + top) // 3
        out[1] = (square * (square - 1) * 2) % 3
        out[2] = (cutlass.max(m[2], 0) << 1) // 3
        out[3] = cutlass.Uint32(4000000000).to(cutlass.Int32) // 3
        out[4] = (cutlass.Uint32(t + 1) * cutlass.Uint32(2654435761)).to(cutlass.Int32) // 2
        out[5] = (cutlass.Int8(t + 100) + cutlass.Int8(t + 100)) // cutlass.Int8(3)
        out[6] = (cutlass.Int32(t + 1) << 31) // 2
        out[7] = (m[2] * 6) % 6

    out = np.zeros(8, np.int32)
    on_device(body, out, loads)
    i32 = lambda x: int(np.array(x & 0xFFFFFFFF, np.uint32).astype(np.int32))  # noqa: E731
    square = i32(65536 * 65535 * 2)
    assert out.tolist() == [
        i32(2 * 0x7FFFFFFF) // 3, square % 3, i32(1 << 31) // 3, i32(4000000000) // 3,
        i32(2654435761) // 2, -56 // 3, i32(1 << 31) // 2, i32(6 << 30) % 6,
    ]  # fmt: skip


def test_assume_is_checked_by_the_simulator() -> None:
    def body(t: Any) -> None:
        t[0] = cute.assume(t[0], 8)

    on_device(body, np.array([16], np.int32))
    with pytest.raises(Exception, match="8"):
        on_device(body, np.array([12], np.int32))
