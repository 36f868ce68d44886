# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters annotated as arrays: runs, promises, masks; pointers with masks; vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import LayoutError, OpenCuTeError, OutOfBoundsError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

F32 = cutlass.Float32


@cute.kernel
def runs(a: cutlass.Array, b: cutlass.Array, n: cutlass.Constexpr[int]):
    i = cute.arch.thread_idx()[0] * n
    b[i:n] = a[i:n] + a[i:n]
    b[0] = a.load(3)
    b.store(a.load(4, vector_size=2, is_invariant=True), 4, 2)
    b.store(a.load(1, is_volatile=True), 1, is_volatile=True)
    data = a.load(8, 4, alignment=16)
    b.store(data, 8, 4, alignment=16)


@cute.jit
def run(a: cutlass.Array, b: cutlass.Array, n: cutlass.Constexpr[int]):
    runs(a, b, n).launch(grid=1, block=1)


@pytest.mark.t0
def test_runs_of_an_array() -> None:
    a, b = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    run(from_dlpack(a, assumed_align=16), from_dlpack(b, assumed_align=16), 2)
    want = np.zeros(16, np.float32)
    want[:2], want[0], want[4:6], want[8:12], want[1] = 2 * a[:2], 3, a[4:6], a[8:12], a[1]
    np.testing.assert_array_equal(b, want)


@pytest.mark.t1
def test_what_the_machine_reads() -> None:
    a, b = (from_dlpack(np.zeros(16, np.float32), assumed_align=16) for _ in "ab")
    with KNOBS.override(target="sim:sm_80"):
        text = cute.compile(run, a, b, 2).__ptx__
    assert "ld.volatile.global.b32" in text and "st.volatile.global.b32" in text
    assert "ld.global.nc.v2" in text and "v4" in text


@pytest.mark.t0
@pytest.mark.parametrize("valid", [0, 3, 8])
def test_masks(valid: int) -> None:
    @cute.kernel
    def kernel(a: cutlass.Array, b: cutlass.Array, valid: cutlass.Int32):
        mask = cutlass.Array(cutlass.Boolean, 8)
        for i in range(8):
            mask[i] = i < valid
        data = a.masked_load(0, 8, mask, default=F32(-2.0))
        b.masked_store(8, data, mask)
        b.store(data, 0, 8)

    @cute.jit
    def host(a: cutlass.Array, b: cutlass.Array, valid: cutlass.Int32):
        kernel(a, b, valid).launch(grid=1, block=1)

    a = np.arange(1, valid + 1, dtype=np.float32) if valid else np.zeros(1, np.float32)
    b = np.full(16, -1, np.float32)
    host(from_dlpack(a).mark_layout_dynamic(), from_dlpack(b), valid)  # behind `a` nothing is read
    want = np.where(np.arange(8) < valid, np.arange(1, 9), -2)
    np.testing.assert_array_equal(b[:8], want)
    np.testing.assert_array_equal(b[8:], np.where(np.arange(8) < valid, want, -1))


@pytest.mark.t0
def test_without_a_mask_the_end_is_seen() -> None:
    a, b = np.zeros(4, np.float32), np.zeros(16, np.float32)
    with pytest.raises(OutOfBoundsError):
        run(from_dlpack(a), from_dlpack(b), 2)


@pytest.mark.t0
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (lambda a: a[0:2:1], "OC1354"),
        (lambda a: a[1:], "OC1354"),
        (lambda a: a[0 : cute.arch.thread_idx()[0] + 1], "OC1354"),
        (lambda a: a.load(0, cute.arch.thread_idx()[0] + 1), "OC1354"),
        (lambda a: a.store(a[0:2], 0, 3), "OC1356"),
        (lambda a: a.__setitem__(slice(0, 3), a[0:2]), "OC1356"),
        (lambda a: a.masked_load(0, 4, cutlass.Vector.from_elements((True,) * 2)), "OC1356"),
        (lambda a: a.masked_load(0, 2, a[0:2]), "OC1261"),
    ],
)  # fmt: skip
def test_what_is_no_run(body: Any, code: str) -> None:
    @cute.kernel
    def kernel(a: cutlass.Array):
        body(a)

    @cute.jit
    def host(a: cutlass.Array):
        kernel(a).launch(grid=1, block=1)

    with pytest.raises(OpenCuTeError) as e:
        host(from_dlpack(np.zeros(8, np.float32)))
    assert e.value.code == code


@pytest.mark.t0
def test_runs_need_neighbours() -> None:
    @cute.kernel
    def kernel(a: cutlass.Array):
        a[0:2] = a[0:2]

    @cute.jit
    def host(a: cutlass.Array):
        kernel(a).launch(grid=1, block=1)

    for array in (np.zeros((4, 4), np.float32), np.zeros(8, np.float32)[::2]):
        with pytest.raises(LayoutError) as e:
            host(from_dlpack(array))
        assert e.value.code == "OC1354"


@pytest.mark.t0
def test_pointers_with_masks_and_vectors_of_numbers() -> None:
    a, b = np.arange(4, dtype=np.float32), np.full(20, -5, np.float32)

    def body(a: Any, b: Any) -> None:
        some = cutlass.Vector.from_elements((True, False, True, False), cutlass.Boolean)
        values = a.iterator.raw_ptr().masked_load(some, 7.0, alignment=4)
        p = b.iterator.raw_ptr()
        p.store(values, alignment=4)
        (p + 4).masked_store(values + F32(10.0), some, alignment=4)
        matrix = cutlass.vector.broadcast_to(
            cutlass.Vector.from_elements((1.0, 2.0, 3.0, 4.0), F32), (2, 4)
        )  # fmt: skip
        sub = matrix[:, 1:3]
        assert sub.shape == (2, 2) and matrix[1, :].shape == (4,) and matrix[:, 2:3].shape == (2, 1)
        for i in range(4):
            p[8 + i] = sub[i // 2, i % 2]
        row = matrix[1, 0:3]
        outer = cutlass.vector.outerproduct(cutlass.Vector.from_elements((2.0, 3.0)), row)
        for i in range(6):
            p[12 + i] = outer[i // 3, i % 3]
        p[18] = cutlass.vector.broadcast_to(F32(5.0), (2,))[1]
        p[19] = cutlass.Vector(row)[2]

    on_device(body, a, b)
    want = [0, 7, 2, 7, 10, -5, 12, -5, 2, 3, 2, 3, 2, 4, 6, 3, 6, 9, 5, 3]
    np.testing.assert_array_equal(b, want)


@pytest.mark.t0
@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        (lambda: cutlass.Vector.from_elements(()), "OC1220", TypeMismatchError),
        (lambda: cutlass.vector.broadcast_to(cutlass.Vector.from_elements((1, 2)), (2, 3)),
         "OC1353", LayoutError),
        (lambda: cutlass.Vector.from_elements((1, 2))[2:2], "OC1354", LayoutError),
        (lambda: cutlass.Vector.from_elements((1, 2))[0:1, 0:1], "OC1354", LayoutError),
    ],
)  # fmt: skip
def test_vectors_that_are_none(body: Any, code: str, error: type) -> None:
    with pytest.raises(error) as e:
        on_device(lambda o: body(), np.zeros(1, np.float32))
    assert e.value.code == code  # pyright: ignore[reportAttributeAccessIssue]
