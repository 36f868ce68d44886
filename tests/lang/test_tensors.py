# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors: views against NumPy, coordinates, alignment, fragments, 64-bit offsets."""

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

QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def ramp(*shape: int, dtype: Any = np.int32) -> Any:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@QUICK
@given(data=st.data(), dynamic=st.booleans())
def test_views_are_numpys(data: Any, dynamic: bool) -> None:
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    keep = [st.none(), st.just(slice(None))]
    index = tuple(data.draw(st.one_of(*keep, st.integers(0, n - 1))) for n in shape)
    x = ramp(*shape)[..., ::-1]
    want = x[tuple(slice(None) if i is None else i for i in index)]
    out = np.full(want.size, -1, np.int32)

    def body(t: Any, o: Any) -> None:
        v = t[index if len(index) > 1 else index[0]]
        if want.ndim == 0:
            o[0] = v
            return
        for k in range(want.size):
            o[k] = v[k]

    on_device(cute.jit(body), x.copy(), out, dynamic=dynamic)
    assert out.tolist() == want.ravel(order="F").tolist()


def test_coordinates_in_every_spelling() -> None:
    x, out = ramp(4, 6), np.zeros(10, np.int32)

    def body(t: Any, o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        one = i + 1
        o[0] = t[1, 2]
        o[1] = t[(1, 2)]
        o[2] = t[[1, 2]]
        o[3] = t[one, 2]
        o[4] = t[one, cutlass.Uint8(2)]
        o[5] = t[9]  # a linear coordinate, first mode fastest
        o[6] = t[one + 8]
        o[7] = t[..., 2][1]
        o[8] = t[:, one][1]
        o[9] = t[np.int64(1), cutlass.Int64(2)]

    on_device(body, x, out)
    assert out.tolist() == [8, 8, 8, 8, 8, x[1, 2], x[1, 2], 8, 7, 8]


def test_stores() -> None:
    out = np.zeros((3, 4), np.float32)

    def body(o: Any) -> None:
        o[0, None] = cute.full((4,), 2.0)
        o[1, :] = o[0, :].load() + 1
        o[2, ...].fill(7)
        o[2, 3] = cutlass.Int64(9)
        o[0, 0] = o[1, None].load()[0:1] if False else cute.full((1,), 5)
        o[1, None] = o[2, None]  # a tensor

    on_device(body, out)
    assert out.tolist() == [[5, 2, 2, 2], [7, 7, 7, 9], [7, 7, 7, 9]]


def test_hierarchical_coordinates_after_a_divide() -> None:
    x, out = ramp(8, 16, dtype=np.float32), np.zeros((8, 16), np.float32)

    def body(t: Any, o: Any) -> None:
        gT, gO = (cute.zipped_divide(v, (1, 4)) for v in (t, o))
        m, n = gT.shape[1]
        for i in range(m * n):
            at = (None, (i // n, i % n))
            gO[at] = gT[at].load() * 2

    on_device(cute.jit(body), x, out, dynamic=True)
    np.testing.assert_array_equal(out, x * 2)


def test_refused_coordinates_and_stores() -> None:
    def body(t: Any) -> None:
        v = cute.full((2,), 1)
        cases = [
            (LayoutError, "OC1354", lambda: t[0:2, 0]),
            (TypeMismatchError, "OC1230", lambda: t[cutlass.Float32(1), 0]),
            (LayoutError, "OC13", lambda: t[0, 0, 0]),
            (LayoutError, "OC1356", lambda: t.__setitem__((0, 0), v)),
            (LayoutError, "OC1356", lambda: t[0, None].store(cute.full((3,), 1))),
            (TypeMismatchError, "OC1232", lambda: t.__setitem__((0, 0), t)),
            (TypeMismatchError, "OC1205", lambda: t.__setitem__((0, 0), "x")),
            (TypeMismatchError, "OC1204", lambda: t.fill("x")),
            (TypeMismatchError, "OC1231", lambda: cute.make_identity_tensor((2, 2)).load()),
            (TypeMismatchError, "OC1231", lambda: cute.make_identity_tensor(2).__setitem__(0, 1)),
            (TypeMismatchError, "OC1233", lambda: cute.make_tensor("p", (2, 2))),
        ]
        for kind, code, action in cases:
            with pytest.raises(kind) as e:
                action()
            assert isinstance(e.value, OpenCuTeError) and e.value.code.startswith(code), e.value

    on_device(body, ramp(4, 4))


@pytest.mark.parametrize("index", [(4, 0), (3, 2), (23, 5)])
def test_an_access_outside_of_the_array_is_found(index: Any) -> None:
    def body(t: Any, o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        o[0] = t[index[0] + i, index[1] + 4]

    with pytest.raises(OpenCuTeError, match="OC31"):
        on_device(body, ramp(4, 6), np.zeros(1, np.int32))


def test_identity_tensors_give_coordinates() -> None:
    out = np.zeros(8, np.int32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        c = cute.make_identity_tensor((8, (4, 2)))
        assert c[3, (1, 1)] == (3, (1, 1)) and c.element_type is cutlass.Int32
        tile = cute.zipped_divide(cute.make_identity_tensor((8, 8)), (2, 4))[(None, None), (1, 1)]
        assert tile[1, 2] == (3, 6)
        assert tile[1] == (3, 4)
        x, y = cute.make_identity_tensor((4, 4))[i + 1]
        o[0], o[1] = x, y
        moved = cute.domain_offset((2, 3), cute.make_identity_tensor((8, 8)))
        o[2], o[3] = moved[i, i]
        assert str(c) == "tensor<(0,(0,0)) o (8,(4,2)):(1@0,(1@0@1,1@1@1))>"

    on_device(body, out)
    assert out[:4].tolist() == [1, 0, 2, 3]


def test_offsets_beyond_32_bits() -> None:
    """A pointer may move 3e9 elements; nothing is read there."""
    small = np.arange(4, dtype=np.int8)
    rows = 3
    step = 1_500_000_000
    seen: list[Any] = []

    def body(t: Any, o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        wide = cute.make_tensor(t.iterator, cute.make_layout((4, rows), stride=(1, step)))
        p = cute.domain_offset((0, i + 2), wide).iterator
        seen.append(p.value.op.operands[1].type)
        o[0] = p.toint() - t.iterator.toint()

    out = np.zeros(1, np.int64)
    on_device(body, small, out)
    assert out[0] == 2 * step and str(seen[0]) == "i64"


def test_large_static_and_dynamic_strides_use_64_bits() -> None:
    seen: list[str] = []

    def body(t: Any, u: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        near = cute.make_tensor(t.iterator, cute.make_layout((4, 4)))
        far = cute.make_tensor(t.iterator, cute.make_layout((1 << 20, 1 << 20)))
        for v in (near[None, i], far[None, i], u[i, None]):
            seen.append(str(v.iterator.value.op.operands[1].type))

    def run() -> None:
        body_tensors = np.zeros((4, 4), np.int8), np.zeros((4, 4), np.int8)
        on_device(body, *body_tensors, dynamic=True)

    run()
    assert seen == ["i32", "i64", "i64"]


def test_alignment_follows_offsets() -> None:
    seen: dict[str, int] = {}

    def body(t: Any, d: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        p = t.iterator
        seen["start"] = p.alignment
        seen["+1"] = (p + 1).alignment
        seen["+4"] = (p + 4).alignment
        seen["+i*2"] = (p + i * 2).alignment
        seen["+i"] = (p + i).alignment
        seen["row"] = t[i, None].iterator.alignment
        seen["tile"] = cute.zipped_divide(t, (1, 4))[None, (i, i)].iterator.alignment
        seen["odd tile"] = cute.zipped_divide(t, (1, 2))[None, (i, i)].iterator.alignment
        seen["assumed"] = d.iterator.align(8).alignment
        seen["-1"] = (p - 1).alignment
        with pytest.raises(LayoutError, match="OC1350"):
            p.align(12)
        assert p.recast(cutlass.Float16).dtype is cutlass.Float16

    base = np.zeros(64, np.float32)
    start = (-base.ctypes.data // 4) % 4
    x = base[start : start + 32].reshape(4, 8)
    on_device(body, x, base[start + 1 :][:4], dynamic=True)
    assert seen == {"start": 16, "+1": 4, "+4": 16, "+i*2": 8, "+i": 4, "row": 16, "tile": 16,
                    "odd tile": 8, "assumed": 8, "-1": 4}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "stride", "want"),
    [
        ((4, 8), (8, 1), "(4,8):(1,4)"),
        ((4, 8), (1, 4), "(4,8):(1,4)"),
        ((4, (2, 3)), (1, (12, 4)), "(4,(2,3)):(1,(12,4))"),
        (((2, 2), 3, 5), ((30, 15), 1, 3), "((2,2),3,5):((1,2),4,12)"),
        (((2, 2), 3, 5), ((30, 15), 5, 1), "((2,2),3,5):((1,2),20,4)"),
        (6, 2, "6:1"),
        ((6,), (2,), "(6):(1)"),
    ],
)
def test_fragments_keep_the_order_of_the_later_modes(shape: Any, stride: Any, want: str) -> None:
    def body(t: Any) -> None:
        src = cute.make_tensor(t.iterator, cute.make_layout(shape, stride=stride))
        f = cute.make_fragment_like(src, cutlass.Float16)
        assert str(f.layout) == want, f.layout
        assert f.element_type is cutlass.Float16 and f.memspace.name == "rmem"
        assert cute.make_fragment_like(src).element_type is src.element_type
        assert cute.make_fragment_like(src.layout, cutlass.Int8).shape == shape
        assert cute.size(f) == cute.size(src) == cute.cosize(f.layout)

    on_device(body, np.zeros(100, np.float32))


def test_register_tensors() -> None:
    out = np.zeros(8, np.float32)

    def body(o: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        r = cute.make_rmem_tensor((2, 4), cutlass.Float32)
        r.fill(1)
        r[0, 1] = 5
        for k in range(4):
            r[1, k] = k
        like = cute.make_rmem_tensor_like(r, cutlass.Int32)
        assert like.shape == (2, 4) and like.element_type is cutlass.Int32
        assert cute.make_fragment(3, cutlass.Float32).shape == 3
        o.store(r.load().reshape((8,)))
        with pytest.raises(LayoutError, match="OC1358"):
            cute.make_rmem_tensor((i, 2), cutlass.Float32)

    on_device(cute.jit(body), out)
    assert out.tolist() == [1, 0, 5, 1, 1, 2, 1, 3]


def test_a_register_that_nothing_wrote_is_reported() -> None:
    def body(o: Any) -> None:
        r = cute.make_rmem_tensor(2, cutlass.Float32)
        r[0] = 1
        o.store(r.load())

    with pytest.raises(OpenCuTeError, match="OC33"):
        on_device(body, np.zeros(2, np.float32))


def test_facts_of_tensors() -> None:
    def body(t: Any) -> None:
        assert isinstance(t, cute.Tensor) and t.element_type is t.dtype is cutlass.Float32
        assert t.shape == (2, 4) and t.stride == (4, 1) and t.rank == cute.rank(t) == 2
        assert t.memspace == cutlass.AddressSpace.gmem and t.max_alignment >= 4
        assert cute.size(t) == 8 and cute.size(t, mode=[1]) == 4
        v = cute.recast_tensor(t, cutlass.Float16)
        assert v.shape == (2, 8) and v.stride == (8, 1)

    on_device(body, np.zeros((2, 4), np.float32))


def test_booleans_take_a_byte() -> None:
    flags, out = np.array([True, False, True]), np.zeros(3, bool)

    def body(f: Any, o: Any) -> None:
        o.store(~f.load())
        o[2] = f[0]

    on_device(body, flags, out)
    assert out.tolist() == [False, True, True]
