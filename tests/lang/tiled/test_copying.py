# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tiled copies partition a tile exactly; predicates; the widest copies; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.base.errors import LayoutError, OpenCuTeError, TypeMismatchError

pytestmark = pytest.mark.t0

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
SMALL = st.sampled_from([1, 2, 4])
ORDERS = st.sampled_from([(0, 1), (1, 0)])


def atom(dtype: Any = cutlass.Float32, bits: int = 0) -> Any:
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=bits)


@st.composite
def tiled(draw: Any) -> tuple[Any, Any, int]:
    """A thread layout and a value layout, compact in either order, and the bits of an atom."""
    thr = (draw(SMALL), draw(SMALL)), draw(ORDERS)
    val = (draw(SMALL), draw(SMALL)), draw(ORDERS)
    count = val[0][0] * val[0][1]
    return thr, val, 32 * draw(st.sampled_from([n for n in (0, 1, 2, 4) if n <= count]))


@QUICK
@given(case=tiled(), tiles=st.tuples(st.integers(1, 3), st.integers(1, 3)))
def test_partitions_cover_each_element_once(case: Any, tiles: tuple[int, int]) -> None:
    (thr, thr_order), (val, val_order), bits = case
    shape = thr[0] * val[0] * tiles[0], thr[1] * val[1] * tiles[1]
    threads = thr[0] * thr[1]
    src = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    dst, count = np.full(shape, -1, np.float32), np.zeros(shape, np.float32)

    def body(s: Any, d: Any, n: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        t = cute.make_tiled_copy_tv(
            atom(bits=bits),
            cute.make_ordered_layout(thr, order=thr_order),
            cute.make_ordered_layout(val, order=val_order),
        )
        assert t.size == threads
        part = t.get_slice(i)
        a, b = part.partition_S(s), part.partition_D(d)
        assert a.shape == b.shape and cute.size(a) * threads == shape[0] * shape[1]
        assert cute.size(a, mode=[0]) == val[0] * val[1]
        cute.copy(t, a, b)
        c = part.partition_D(n)
        for k in range(cute.size(c)):
            c[k] = c[k] + 1

    on_device(cute.jit(body), src, dst, count, block=threads)
    np.testing.assert_array_equal(src, dst)
    np.testing.assert_array_equal(count, 1)


@pytest.mark.parametrize("per", ["rest", "element"])
def test_predicated_copies_move_what_is_inside(per: str) -> None:
    shape, inside = (8, 16), (5, 11)
    src = np.arange(128, dtype=np.float32).reshape(shape)
    dst = np.full(shape, -1, np.float32)

    def body(s: Any, d: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        values = (1, 1) if per == "rest" else (2, 2)
        t = cute.make_tiled_copy_tv(
            atom(), cute.make_layout((2, 4)), cute.make_ordered_layout(values, order=(1, 0))
        )
        part = t.get_slice(i)
        a, b = part.partition_S(s), part.partition_D(d)
        c = part.partition_S(cute.make_identity_tensor(shape))
        frag = cute.make_fragment_like(a)
        pred = cute.make_rmem_tensor(c.shape, cutlass.Boolean)
        for k in range(cute.size(pred)):
            pred[k] = cute.elem_less(c[k], inside)
        cute.copy(t, a, frag, pred=pred)
        cute.copy(t, frag, b, pred=pred)

    on_device(cute.jit(body), src, dst, block=8)
    want = np.full(shape, -1, np.float32)
    want[:5, :11] = src[:5, :11]
    np.testing.assert_array_equal(dst, want)


def test_a_predicated_copy_reads_nothing_outside() -> None:
    src, dst = np.ones(5, np.float32), np.zeros(8, np.float32)

    def body(s: Any, d: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        big = cute.make_tensor(s.iterator, 8)
        a, b = (cute.zipped_divide(x, (2,))[None, i] for x in (big, d))
        pred = cute.make_rmem_tensor(2, cutlass.Boolean)
        for k in range(2):
            pred[k] = i * 2 + k < 5
        cute.basic_copy_if(pred, a, b)

    on_device(cute.jit(body), src, dst, block=4)
    assert dst.tolist() == [1] * 5 + [0] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("transposed", [False, True])
def test_autovec_copy(dtype: Any, transposed: bool) -> None:
    src = (np.arange(32) % 2).reshape(4, 8).astype(dtype)
    dst = np.zeros((8, 4), dtype).T if transposed else np.zeros((4, 8), dtype)

    def body(s: Any, d: Any) -> None:
        r = cute.make_fragment_like(s)
        cute.autovec_copy(s, r)
        cute.basic_copy(r, d)

    on_device(body, src, dst)
    np.testing.assert_array_equal(src, dst)


def test_retile_and_spellings_of_the_atom() -> None:
    src, dst = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)

    def body(s: Any, d: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        t = cute.make_tiled_copy_tv(atom(bits=64), cute.make_layout(4), cute.make_layout(4))
        part = t.get_slice(i)
        a = part.partition_S(s)
        f = cute.make_fragment_like(a)
        cute.copy(part, a, f)
        view = part.retile(f)
        assert cute.size(view) == 4 and cute.size(view, mode=[0]) == 4
        cute.copy(t.atom, f, part.partition_D(d))
        assert t.tiler_mn is not None and str(t).startswith("Tiled Copy\n  Tiler MN:")
        assert t.atom.num_values == 2 and t.layout_tv_tiled == t.layout_tv

    on_device(body, src, dst, block=4)
    np.testing.assert_array_equal(src, dst)


def test_refusals() -> None:
    def body(t: Any, u: Any) -> None:
        f, g = (cute.make_rmem_tensor(4, c) for c in (cutlass.Float32, cutlass.Float16))
        pred = cute.make_rmem_tensor(3, cutlass.Boolean)
        cases = [
            (LayoutError, "OC1363", lambda: cute.copy(
                atom(), f, cute.make_rmem_tensor(8, f.dtype))),
            (TypeMismatchError, "OC1238", lambda: cute.copy(atom(), f, g)),
            (TypeMismatchError, "OC1237", lambda: cute.copy("atom", f, f)),
            (TypeMismatchError, "OC1236", lambda: cute.copy(atom(), f, 3)),
            (TypeMismatchError, "OC1236", lambda: cute.copy(
                atom(), cute.make_identity_tensor(4), f)),
            (LayoutError, "OC1362", lambda: cute.copy(atom(), u, f)),
            (TypeMismatchError, "OC1239", lambda: cute.copy(atom(), f, f, pred=f)),
            (LayoutError, "OC1364", lambda: cute.copy(atom(), f, f, pred=pred)),
            (LayoutError, "OC1360", lambda: atom(bits=24)),
            (LayoutError, "OC1361", lambda: cute.make_tiled_copy_tv(
                atom(bits=128), cute.make_layout(4), cute.make_layout(2))),
        ]  # fmt: skip
        for kind, code, action in cases:
            with pytest.raises(kind) as e:
                action()
            assert isinstance(e.value, OpenCuTeError) and e.value.code == code, e.value

    @cute.jit
    def host(t: cute.Tensor, u: cute.Tensor):
        kernel(t, u).launch()

    @cute.kernel
    def kernel(t: cute.Tensor, u: cute.Tensor):
        body(t, u)

    from opencute.cute.runtime import from_dlpack

    x = np.zeros(4, np.float32)
    host(from_dlpack(x), from_dlpack(x).mark_layout_dynamic())
