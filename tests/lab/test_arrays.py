# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Clones keep strides, alignment and aliasing; frozen values cannot be changed from outside."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencute.lab import arrays

pytestmark = pytest.mark.t0

Pair = namedtuple("Pair", "a b")


def buffer(size: int, offset: int = 0) -> Any:
    """Bytes at a known offset from a 256-byte boundary."""
    room = np.zeros(size + 512, np.uint8)
    start = -room.ctypes.data % 256 + offset
    return room[start : start + size]


def test_numpy_clone_is_equal_and_separate() -> None:
    a = np.arange(12.0).reshape(3, 4)
    b = arrays.clone(a)
    assert np.array_equal(a, b)
    b[0, 0] = 99
    assert a[0, 0] == 0
    assert not arrays.shares_memory(a, b)


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::2, 1:], lambda a: a[::-1], lambda a: a[:, ::-1],
    lambda a: np.broadcast_to(a[:1], (5, 6)), lambda a: a[2:2], lambda a: a[1, 1, ...],
    lambda a: np.asfortranarray(a),
])  # fmt: skip
def test_numpy_clone_keeps_strides(view: Any) -> None:
    a = view(np.arange(24.0).reshape(4, 6))
    b = arrays.clone(a)
    assert np.array_equal(a, b)
    assert a.strides == b.strides
    assert a.flags.writeable == b.flags.writeable


@given(st.integers(0, 255))
def test_numpy_clone_keeps_alignment(offset: int) -> None:
    a = buffer(64, offset)
    assert arrays.clone(a).ctypes.data % 256 == a.ctypes.data % 256


def test_numpy_clone_keeps_aliasing() -> None:
    a = np.arange(6.0)
    x, y, z = arrays.clone((a, a[2:], np.arange(6.0)))
    x[3] = 7
    assert y[1] == 7
    assert z[3] == 3
    whole = arrays.clone([a, a])
    whole[0][0] = 5
    assert whole[1][0] == 5


def test_read_only_inputs_stay_read_only() -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    b = arrays.clone(a)
    with pytest.raises(ValueError, match="read-only"):
        b[0] = 1


def test_clone_of_trees_and_scalars() -> None:
    tree = {"p": Pair(np.ones(2), [1, 2.0, None, "s"]), "q": (True, 3j, b"x")}
    out = arrays.clone(tree)
    assert type(out["p"]) is Pair
    assert out["p"].b == [1, 2.0, None, "s"]
    assert out["p"].b is not tree["p"].b
    assert out["q"] == tree["q"]


def test_clone_of_ml_dtypes_and_objects() -> None:
    a = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    assert np.array_equal(arrays.clone(a), a)
    nested = np.array([[1], {"k": 2}], object)
    copy = arrays.clone(nested)
    copy[1]["k"] = 3
    assert nested[1]["k"] == 2


def test_what_has_no_copy_is_passed_on() -> None:
    lock = __import__("threading").Lock()
    assert arrays.clone(lock) is lock


def test_frozen_values_do_not_change() -> None:
    a = np.zeros(3)
    frozen = arrays.freeze((a, 1, None))
    a[:] = 7
    assert frozen[0].data.tolist() == [0, 0, 0]
    assert frozen[1:] == (1, None)
    assert arrays.freeze(object()).type == "object"
    assert arrays.freeze(np.float32(2.0)).dtype == "float32"


def test_same_bits_tells_zeros_apart_and_knows_nan() -> None:
    def frozen(value: float) -> arrays.Frozen:
        return arrays.freeze(np.array([value]))

    assert frozen(float("nan")).same_bits(frozen(float("nan")))
    assert not frozen(0.0).same_bits(frozen(-0.0))
    assert not frozen(0.0).same_bits(arrays.freeze(np.array([0])))


def test_leaves_have_paths() -> None:
    tree = arrays.freeze({"a": [1, (2, None)]})
    assert [p for p, _ in arrays.leaves(tree, "out")] == [
        "out['a'][0]", "out['a'][1][0]", "out['a'][1][1]"
    ]  # fmt: skip


def test_shared_memory_is_seen() -> None:
    a = np.arange(10.0)
    assert arrays.shares_memory(a[3:], [a])
    assert not arrays.shares_memory(a[:3], [a[5:]])
    assert arrays.shares_memory({"k": a[::-1]}, (a[:1],))


class TestTorch:
    """The same for torch tensors."""

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        self.torch: Any = pytest.importorskip("torch")
        arrays.watch_torch()

    def test_clone_keeps_strides_and_aliasing(self) -> None:
        t = self.torch.arange(24.0).reshape(4, 6)
        a, b, c = arrays.clone((t.T, t[1:, ::2], t.expand(2, 4, 6)))
        assert a.stride() == t.T.stride()
        assert b.storage_offset() == 6
        assert c.stride() == (0, 6, 1)
        a[0, 1] = 99
        assert b[0, 0] == 99
        assert t[1, 0] == 6
        assert not arrays.shares_memory(a, t)
        assert arrays.shares_memory(t[0], t)

    def test_clone_of_leaf_with_gradient(self) -> None:
        t = self.torch.ones(3, requires_grad=True)
        out = arrays.clone(t)
        assert out.requires_grad
        assert out.is_leaf

    @pytest.mark.parametrize("name", [
        "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "bool", "complex64",
        "float8_e8m0fnu",
    ])  # fmt: skip
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
    def test_freeze_keeps_type_and_value(self, name: str, shape: Any) -> None:
        dtype = getattr(self.torch, name)
        t = self.torch.ones(shape).to(dtype)
        frozen = arrays.freeze(t)
        assert (frozen.library, frozen.device, frozen.dtype) == ("torch", "cpu", name)
        assert frozen.shape == shape
        assert frozen.data.shape == shape
        assert (frozen.data.astype(np.complex128) == 1).all()

    def test_freeze_of_odd_tensors(self) -> None:
        z = self.torch.tensor([1 + 2j]).conj()
        assert arrays.freeze(z).data[0] == 1 - 2j
        sparse = self.torch.eye(2).to_sparse()
        assert arrays.freeze(sparse).data.tolist() == [[1, 0], [0, 1]]
        assert arrays.clone(sparse).to_dense().tolist() == [[1, 0], [0, 1]]
        assert arrays.freeze(self.torch.ones(3)[::2]).data.tolist() == [1, 1]
        assert arrays.freeze(self.torch.ones(2, requires_grad=True) * 2).data.tolist() == [2, 2]

    def test_freeze_of_packed_float4(self) -> None:
        if not hasattr(self.torch, "float4_e2m1fn_x2"):
            pytest.skip("this torch has no float4")
        t = self.torch.tensor([[0x21, 0x43]], dtype=self.torch.uint8)
        frozen = arrays.freeze(t.view(self.torch.float4_e2m1fn_x2))
        assert frozen.data.astype(float).tolist() == [[0.5, 1.0, 1.5, 2.0]]

    def test_frozen_values_do_not_change(self) -> None:
        t = self.torch.zeros(2)
        frozen = arrays.freeze(t)
        t.fill_(3)
        assert frozen.data.tolist() == [0, 0]
