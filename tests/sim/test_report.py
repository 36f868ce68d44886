# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What of arrays kernels wrote: found element by element, over launches and over views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
import cutlass.cute as cute
from compiled import on_device
from opencute.sim.report import Gap, Reach, reaching

pytestmark = pytest.mark.t0


def gap_of(reach: Reach, x: np.ndarray[Any, Any]) -> Gap | None:
    return reach.gap(x.ctypes.data, x.shape, x.strides, x.itemsize)


def write(o: Any, n: int = 96, atomic: bool = False) -> None:
    """The first n elements of an array, by as many threads."""

    def store(o: Any) -> None:
        o[cute.arch.thread_idx()[0]] = 1.0

    def add(o: Any) -> None:
        cute.arch.atomic_add(o.iterator + cute.arch.thread_idx()[0], cutlass.Float32(1.0))

    on_device(add if atomic else store, o, block=n)


def test_what_no_kernel_wrote() -> None:
    out = np.zeros(100, np.float32)
    with reaching() as reach:
        write(out)
    found = gap_of(reach, out)
    assert found is not None and (found.count, found.total, found.first) == (4, 100, (96,))
    assert not found.read and not found.fresh
    (text,) = reach.gaps()
    assert text == (
        "4 of 100 elements of Float32[100] were written by no kernel, and hold what the array held "
        "before; the first is [96]"
    )


@pytest.mark.parametrize("atomic", [False, True])
def test_launches_add_up_and_a_whole_array_has_no_gap(atomic: bool) -> None:
    out = np.zeros(100, np.float32)
    with reaching() as reach:
        write(out[:60], 60, atomic)
        assert gap_of(reach, out) is not None
        write(out[60:], 40, atomic)
    assert gap_of(reach, out) is None and not reach.gaps()


def test_only_the_elements_of_a_view_count() -> None:
    whole = np.zeros((100, 2), np.float32)
    with reaching() as reach:
        write(whole[:, 1], 100)
    assert gap_of(reach, whole[:, 1]) is None and gap_of(reach, whole[::-1, 1]) is None
    assert gap_of(reach, whole[:, 0]) is None  # nothing of it was written
    found = gap_of(reach, whole)
    assert found is not None and (found.count, found.first) == (100, (0, 0))
    assert gap_of(reach, np.zeros(4)) is None and gap_of(reach, whole[:0]) is None


def test_what_kernels_read_is_no_result_with_a_part_forgotten() -> None:
    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[i] = o[i] + 1.0

    state, cache = np.zeros(100, np.float32), np.zeros(100, np.float32)
    with reaching() as reach:
        on_device(body, state, block=96)
        write(cache, 10)  # far from all of it, and it held something: left alone
    found = gap_of(reach, state)
    assert found is not None and found.read and not reach.gaps()


def test_nobody_asks() -> None:
    with reaching() as outer:
        with reaching() as inner:
            write(np.zeros(100, np.float32))
        assert inner.known and not outer.known
    write(np.zeros(100, np.float32))
    assert not outer.known
