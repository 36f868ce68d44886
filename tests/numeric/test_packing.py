# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Patterns to bytes and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError
from opencute.numeric.dtypes import DTYPES, DType
from opencute.numeric.packing import pack, packed_size, unpack

pytestmark = pytest.mark.t0

ALL = list(DTYPES.values())
SUBBYTE = [t for t in ALL if t.is_subbyte]


@pytest.mark.parametrize("t", ALL, ids=str)
@pytest.mark.parametrize("one_per_container", [False, True])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_unpack_inverts_pack(t: DType, one_per_container: bool, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, (1 << t.width) - 1), max_size=20))
    bits = np.array([*codes, None], object)[:-1].astype(t.bits_dtype)
    raw = pack(bits, t, one_per_container=one_per_container)
    assert raw.dtype == np.uint8 and raw.ndim == 1
    each = t.container_bits if one_per_container else t.memory_bits
    assert len(raw) == (len(codes) * each + 7) // 8
    back = unpack(raw, t, len(codes), one_per_container=one_per_container)
    assert back.dtype == t.bits_dtype and list(back) == codes


@pytest.mark.parametrize("t", ALL, ids=str)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_memory_is_a_little_endian_stream_of_bits(t: DType, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, (1 << t.width) - 1), max_size=12))
    bits = np.array([*codes, None], object)[:-1].astype(t.bits_dtype)
    whole = sum(c << (k * t.memory_bits) for k, c in enumerate(codes))
    want = whole.to_bytes(packed_size(len(codes), t), "little")
    assert pack(bits, t).tobytes() == want


def test_examples() -> None:
    u4, f6 = DTYPES["u4"], DTYPES["f6e2m3fn"]
    assert pack(np.array([1, 2, 15], np.uint8), u4).tobytes().hex() == "210f"
    assert pack(np.array([0x3F, 0, 0x3F, 0], np.uint8), f6).tobytes().hex() == "3ff003"
    assert pack(np.array([1, 2], np.uint8), f6, one_per_container=True).tobytes().hex() == "0102"
    assert pack(np.array([0x1234], np.uint16), DTYPES["bf16"]).tobytes().hex() == "3412"
    assert pack(np.array([1, 0, 1], np.uint8), DTYPES["i1"]).tobytes().hex() == "010001"


@pytest.mark.parametrize("t", SUBBYTE, ids=str)
def test_bits_above_the_type_are_dropped(t: DType) -> None:
    dirty = np.array([0xFF, 0xC0], np.uint8)
    clean = dirty & ((1 << t.width) - 1)
    for one in (False, True):
        assert (
            pack(dirty, t, one_per_container=one) == pack(clean, t, one_per_container=one)
        ).all()


def test_shape_order_and_count() -> None:
    grid = np.arange(6, dtype=np.uint8).reshape(2, 3)
    u4 = DTYPES["u4"]
    assert (pack(grid, u4) == pack(grid.reshape(-1), u4)).all()
    assert list(unpack(pack(grid.T, u4), u4)) == [0, 3, 1, 4, 2, 5]
    assert list(unpack(np.array([0x21, 0x0F], np.uint8), u4)) == [1, 2, 15, 0]
    assert list(unpack(np.array([0x21, 0x0F], np.uint8), u4, 3)) == [1, 2, 15]
    f32 = np.array([1.5, -2.0], np.float32)
    assert list(unpack(f32.view(np.uint8), DTYPES["f32"]).view(np.float32)) == [1.5, -2.0]
    assert list(unpack(np.zeros(7, np.uint8), DTYPES["f32"])) == [0]  # a part element is left out


@pytest.mark.parametrize("count", [5, -1])
def test_bytes_that_do_not_hold_the_count(count: int) -> None:
    with pytest.raises(ArgumentError, match="do not hold") as e:
        unpack(np.zeros(2, np.uint8), DTYPES["u4"], count)
    assert e.value.code == "OC2022"
