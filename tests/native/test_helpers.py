# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled helpers against NumPy and ml_dtypes, bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.native import helpers
from opencute.native.helpers import reference

pytestmark = pytest.mark.t1

ALL16 = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def bits(a):
    return a.view({2: np.uint16, 4: np.uint32}[a.itemsize])


def interesting_f32():
    """Where rounding to 16 bits is delicate: every f16 and bf16, their midpoints, and 1 ulp off."""
    f16 = ALL16.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        up = np.nextafter(ALL16.view(np.float16), np.float16(np.inf)).astype(np.float64)
        middle = ((f16 + up) / 2).astype(np.float32)
    high = (ALL16.astype(np.uint32) << 16) | np.uint32(0x8000)
    base = np.concatenate([bits(middle), high, ALL16.astype(np.uint32) << 16])
    near = np.concatenate([base, base + np.uint32(1), base - np.uint32(1)])
    random = np.random.default_rng(1).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    return np.concatenate([near, random]).view(np.float32)


@pytest.mark.parametrize("name", ["f32_to_f16", "f32_to_bf16"])
def test_narrowing_is_bit_exact(name):
    values = interesting_f32()
    got = getattr(helpers, name)(values)
    assert np.array_equal(bits(got), bits(getattr(reference, name)(values)))
    dtype = np.float16 if name == "f32_to_f16" else ml_dtypes.bfloat16
    number = ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(dtype)
    assert got.dtype == dtype
    assert np.array_equal(bits(got)[number], bits(expected)[number])
    assert set(bits(got)[~number]) == {0x7FFF}


def test_widening_is_bit_exact():
    values = ALL16.view(np.float16)
    got = helpers.f16_to_f32(values)
    assert np.array_equal(bits(got), bits(reference.f16_to_f32(values)))
    number = ~np.isnan(values)
    assert np.array_equal(bits(got)[number], bits(values.astype(np.float32))[number])
    assert set(bits(got)[~number]) == {0x7FFFFFFF}


@pytest.mark.parametrize("shape", [(0,), (), (1,), (7, 3), (2, 0, 3)])
def test_shapes_are_kept(shape):
    values = np.ones(shape, np.float32)
    assert helpers.f32_to_f16(values).shape == shape
    assert reference.f32_to_f16(values).shape == shape


def test_strided_arrays_are_converted_in_their_order():
    values = np.arange(24, dtype=np.float32).reshape(4, 6).T[::2]
    assert np.array_equal(helpers.f32_to_f16(values), values.astype(np.float16))


def test_a_wrong_type_is_refused():
    with pytest.raises(ArgumentError) as caught:
        helpers.f32_to_f16(np.ones(3))
    assert caught.value.code == "OC2922"


@st.composite
def copies(draw):
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    size = draw(st.integers(0, 64))
    lanes = draw(st.integers(0, 40))
    beyond = draw(st.booleans())
    low, high = (-3, size + 3) if beyond else (0, max(size - width, 0))
    offsets = draw(st.lists(st.integers(low, high), min_size=lanes, max_size=lanes))
    if draw(st.booleans()) and offsets:
        offsets[draw(st.integers(0, lanes - 1))] = draw(
            st.sampled_from([-(1 << 63), (1 << 63) - 1, -1])
        )
    return width, size, np.array(offsets, np.int64)


@settings(max_examples=100, deadline=None)
@given(copies())
def test_gather_and_scatter_agree_with_the_reference(case):
    width, size, offsets = case
    rng = np.random.default_rng(size)
    memory = rng.integers(0, 256, size, dtype=np.uint8)
    items = rng.integers(0, 256, (offsets.size, width), dtype=np.uint8)
    got, want = items.copy(), items.copy()
    assert helpers.gather(memory, offsets, got) == reference.gather(memory, offsets, want)
    assert np.array_equal(got, want)
    mine, theirs = memory.copy(), memory.copy()
    assert helpers.scatter(mine, offsets, items) == reference.scatter(theirs, offsets, items)
    assert np.array_equal(mine, theirs)


def test_gather_means_what_indexing_means():
    memory = np.arange(1000, dtype=np.float32)
    lanes = np.array([[3, 999], [0, 7]])
    out = np.empty(lanes.shape, np.float32)
    assert helpers.gather(memory, lanes * 4, out) == -1
    assert np.array_equal(out, memory[lanes])


def test_the_first_bad_lane_is_reported_and_nothing_is_written():
    memory = np.zeros(16, np.uint8)
    offsets = np.array([0, 12, 13, -1], np.int64)
    out = np.full(4, 9, np.uint32)
    assert helpers.gather(memory, offsets, out) == 2
    assert (out == 9).all()
    assert helpers.scatter(memory, offsets, out) == 2
    assert not memory.any()
    assert helpers.gather(memory[:2], offsets, out) == 0


def test_the_last_lane_wins():
    memory = np.zeros(8, np.uint8)
    lanes = 64
    values = np.arange(lanes, dtype=np.uint16)
    assert helpers.scatter(memory, np.full(lanes, 3, np.int64), values) == -1
    assert memory[3:5].view(np.uint16)[0] == lanes - 1


def test_arrays_that_do_not_fit_are_refused():
    memory, offsets, items = np.zeros(16, np.uint8), np.zeros(2, np.int64), np.zeros(2, np.uint32)
    readonly = memory.copy()
    readonly.setflags(write=False)
    for bad in (
        lambda: helpers.gather(memory, offsets.astype(np.int32), items),
        lambda: helpers.gather(memory[::2], offsets, items),
        lambda: helpers.gather(memory, offsets, np.zeros(3, np.uint8)),
        lambda: helpers.gather(memory, offsets, np.zeros((2, 3), np.uint8)),
        lambda: helpers.scatter(memory, np.zeros(4, np.int64)[::2], items),
        lambda: helpers.scatter(readonly, offsets, items),
        lambda: helpers.gather(memory, np.zeros(16, np.int64), readonly),
    ):
        with pytest.raises(ArgumentError):
            bad()
    assert helpers.gather(readonly, offsets, items) == -1


class DictCache(dict):
    puts = 0

    def put(self, key, blobs):
        self.puts += 1
        self[key] = blobs


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(helpers, "_loaded", None)
    monkeypatch.setattr(helpers, "_cache", None)


def test_object_code_is_kept_in_the_cache(fresh, monkeypatch):
    cache = DictCache()
    helpers.use_cache(cache)
    helpers.f32_to_f16(np.ones(3, np.float32))
    assert cache.puts == 2
    monkeypatch.setattr(helpers, "_loaded", None)
    monkeypatch.setattr(helpers.jit, "compile_host", None)
    assert (helpers.f32_to_f16(np.ones(3, np.float32)) == 1).all()
    assert cache.puts == 2


def test_nonsense_in_the_cache_is_replaced(fresh, monkeypatch):
    cache = DictCache()
    helpers.use_cache(cache)
    helpers.f32_to_f16(np.ones(3, np.float32))
    for key in cache:
        cache[key] = {"object": b"nonsense"}
    monkeypatch.setattr(helpers, "_loaded", None)
    assert (helpers.f32_to_f16(np.ones(3, np.float32)) == 1).all()
    assert cache.puts == 4


def test_numpy_steps_in_where_llvm_is_missing(fresh, monkeypatch):
    def missing(*args, **kwargs):
        raise MissingPieceError("no llvmlite", code="OC5013")

    monkeypatch.setattr(helpers, "_module", missing)
    assert (helpers.f32_to_f16(np.ones(3, np.float32)) == 1).all()
    out = np.empty(1, np.uint8)
    assert helpers.gather(np.arange(4, dtype=np.uint8), np.array([2]), out) == -1
    assert out[0] == 2
    assert helpers.scatter(np.arange(4, dtype=np.uint8), np.array([9]), out) == 0
