# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The algebra on tensors is the algebra on their layouts, and moves the iterator where it must."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device, on_host
from opencute import cute
from opencute.base.errors import LayoutError, TypeMismatchError

pytestmark = pytest.mark.t0

SHAPE, STRIDE = ((4, 2), 8), ((1, 4), 8)

ON_TENSORS = {
    "coalesce": (), "filter_zeros": (), "flatten": (), "group_modes": (0, 2), "select": ([1, 0],),
    "logical_divide": ((2, 4),), "zipped_divide": ((2, 4),), "tiled_divide": ((2, 4),),
    "flat_divide": ((2, 4),), "composition": ((4, 2),), "get": ([1],), "filter": (),
    "append_ones": (3,), "prepend_ones": (),
}  # fmt: skip
ON_LAYOUTS = {
    "logical_product": (2,), "zipped_product": (2,), "tiled_product": (2,), "flat_product": (2,),
    "complement": (128,), "right_inverse": (), "left_inverse": (),
}  # fmt: skip


def layout() -> Any:
    return cute.make_layout(SHAPE, stride=STRIDE)


def offsets(x: Any) -> list[int]:
    return [x(i) for i in range(x.size())]


@pytest.mark.parametrize("name", ON_TENSORS)
def test_functions_on_tensors_are_those_on_layouts(name: str) -> None:
    src = np.arange(64, dtype=np.int32)
    seen: list[Any] = []
    fn, args = getattr(cute, name), ON_TENSORS[name]

    def body(t: Any, o: Any) -> None:
        tensor = cute.make_tensor(t.iterator, layout())
        got = fn(tensor, *args)
        want = fn(layout(), *args)
        assert str(got.layout) == str(want) and isinstance(got, cute.Tensor)
        seen.extend(offsets(want))
        for i in range(len(seen)):
            o[i] = got[i]

    out = np.zeros(64, np.int32)
    on_device(body, src, out)
    assert out[: len(seen)].tolist() == seen


@pytest.mark.parametrize("name", ON_LAYOUTS)
def test_functions_on_layouts_need_no_compiled_code(name: str) -> None:
    assert getattr(cute, name)(layout(), *ON_LAYOUTS[name]).size() > 0


def test_products_of_two_layouts() -> None:
    block, tiler = cute.make_layout((2, 2)), cute.make_layout((2, 3))
    assert cute.blocked_product(block, tiler).shape == ((2, 2), (2, 3))
    assert cute.raked_product(block, tiler).shape == ((2, 2), (3, 2))


def test_tiles_of_tensors_are_numpys() -> None:
    x = np.arange(96, dtype=np.int32).reshape(8, 12)
    tile, part, moved = (np.zeros(s, np.int32) for s in ((4, 3), (2, 6), (2, 3)))

    def body(t: Any, a: Any, b: Any, c: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        a.store(cute.local_tile(t, (4, 3), (1, i + 2)).load())
        b.store(cute.local_partition(t, cute.make_layout((4, 2)), i + 5).load())
        view = cute.domain_offset((i + 1, 2), t)
        for r in range(2):
            for k in range(3):
                c[r, k] = view[r, k]

    on_device(cute.jit(body), x, tile, part, moved)
    np.testing.assert_array_equal(tile, x[4:, 6:9])
    np.testing.assert_array_equal(part, x[1::4, 1::2])
    np.testing.assert_array_equal(moved, x[1:3, 2:5])


def test_local_tile_with_projection_and_kept_modes() -> None:
    x = np.arange(64, dtype=np.int32).reshape(8, 8)

    def body(t: Any) -> None:
        rows = cute.local_tile(t, (4, 2, 99), (1, None, 0), proj=(1, 1, None))
        assert cute.size(rows) == 4 * 2 * 4 and rows.shape == (4, 2, 4)
        assert cute.slice_(t, (None, 3)).shape == (8,)

    on_device(body, x)


@pytest.mark.parametrize(
    ("name", "first", "more"),
    [
        ("append", "x", {"elem": 2}),
        ("coalesce", "layout", {}),
        ("group_modes", "x", {"begin": 0, "end": 2}),
        ("logical_divide", "target", {"tiler": (2, 3)}),
        ("raked_product", "block", {"tiler": cute.make_layout((2, 2))}),
        ("select", "x", {"mode": [1]}),
        ("rank", "x", {}),
    ],
)
def test_arguments_by_the_names_that_the_signature_has(
    name: str, first: str, more: dict[str, Any]
) -> None:
    function = getattr(cute, name)
    layout: Any = (4, 6) if name == "append" else cute.make_layout((4, 6), stride=(1, 8))
    assert list(inspect.signature(function).parameters)[: len(more) + 1] == [first, *more]
    assert function(**{first: layout}, **more) == function(layout, *more.values())
    with pytest.raises(TypeError, match=f"{name}.*'{first}'"):
        function(**more)


def test_measures() -> None:
    def body(t: Any) -> None:
        assert cute.size(t) == 24 and cute.size(t, mode=[0]) == 4 and cute.rank(t) == 2
        assert cute.depth(t) == 1 and cute.cosize(t) == 24 and cute.shape(t) == (4, 6)
        assert cute.size(t.load()) == 24 and cute.size(5) == 5 and cute.size((2, (3, 4))) == 24
        assert cute.is_static(t.layout)
        assert cute.ceil_div(10, 4) == 3 and cute.ceil_div((10, 7), (4, 7)) == (3, 1)
        assert cute.round_up(10, 4) == 12 and cute.crd2idx((1, 2), t.layout) == 8
        assert cute.idx2crd(5, (4, 6)) == (1, 1) and cute.front(((3, 1), 2)) == 3
        assert cute.size_in_bytes(cutlass.Float16, t.layout) == 48
        assert cute.size_in_bytes(cutlass.Float16, t) == 48
        assert cute.size_in_bytes(cutlass.Float16, (4, (2, 3))) == 48
        assert cute.size_in_bytes(cutlass.Int4, 6) == 3
        assert cute.elem_less((1, 2), (2, 3)) and not cute.elem_less((1, 3), (2, 3))
        assert cute.max_common_vector(t.layout, t.layout) == 24

    on_device(body, np.zeros((4, 6), np.int32))


def test_dynamic_sizes_and_ceil_div() -> None:
    out = np.zeros(4, np.int32)

    def body(t: Any, o: Any) -> None:
        n = cute.size(t)
        assert n.is_dynamic and not cute.is_static(t.layout)
        o[0], o[1] = n, cute.ceil_div(n, 4)
        o[2] = cute.round_up(n, 8)
        o[3] = cute.crd2idx((1, 2), t.layout)

    on_device(body, np.zeros((3, 5), np.int32), out, dynamic=True)
    assert out.tolist() == [15, 4, 16, 7]


def test_assume_and_recast() -> None:
    def body(t: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        assert cute.assume(5, 4) == 5 and cute.assume(i, 8).divisibility == 8
        with pytest.raises(TypeMismatchError, match="OC1235"):
            cute.assume("x", 2)
        with pytest.raises(TypeMismatchError, match="OC1234"):
            cute.recast_tensor(3, cutlass.Int8)
        assert cute.recast_ptr(t.iterator, dtype=cutlass.Int8).dtype is cutlass.Int8
        assert cute.make_layout((i, 4)).shape[1] == 4

    on_device(body, np.zeros(4, np.int32))


def test_layouts_may_be_made_from_lists_and_numbers() -> None:
    def body() -> None:
        a = cute.make_layout([4, [2, 3]], stride=[1, (4, 8)])
        assert str(a) == "(4,(2,3)):(1,(4,8))"
        assert cute.make_layout(np.int64(4)).shape == 4
        assert str(cute.append(a, cute.make_layout(2, stride=100))) == "(4,(2,3),2):(1,(4,8),100)"
        assert str(cute.prepend(a, cute.make_layout(2))) == "(2,4,(2,3)):(1,1,(4,8))"

    on_host(body)


def test_tiles_that_memory_does_not_have() -> None:
    def tile(at: Any) -> None:
        on_host(lambda t: cute.local_tile(t, (4, 2), at), np.zeros((10, 4), np.float32))

    for at in ((2, 1), (0, None), (None, 1)):
        tile(at)
    for at, text in (((3, 0), "mode 0 has no tile 3"), ((0, 2), "mode 1 has no tile 2")):
        with pytest.raises(LayoutError, match=text) as e:
            tile(at)
        assert e.value.code == "OC1315"
