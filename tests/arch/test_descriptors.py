# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix descriptors: bits and back, and where hardware looks, against the layouts of the atoms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencute.arch.descriptors import FIELDS, decode, describe, encode, places, swizzled
from opencute.base.errors import ArgumentError
from opencute.lang.hopper.smem_layouts import SmemLayoutAtomKind, make_smem_layout_atom
from opencute.lang.numbers import Float8E4M3FN, Float16, Float32
from opencute.layout import Swizzle, tile_to_shape

pytestmark = pytest.mark.t0

multiples = st.integers(0, (1 << 14) - 1).map(lambda x: 16 * x)


@settings(max_examples=100, deadline=None)
@given(multiples, multiples, multiples, st.integers(0, 7), st.sampled_from([0, 32, 64, 128]))
def test_bits_and_back(start: int, leading: int, stride: int, base_offset: int, swizzle: int):
    fields = {
        "start": start, "leading": leading, "stride": stride, "base_offset": base_offset,
        "swizzle": swizzle,
    }  # fmt: skip
    bits = encode(**fields)
    assert decode(bits) == fields
    assert decode(bits - (1 << 64)) == fields  # the same bits, taken as signed
    array = np.array([bits], np.uint64).view(np.int64)
    assert FIELDS["start"].get(array).tolist() == [start]


def test_fields_do_not_overlap():
    bits = [b for f in FIELDS.values() for b in range(f.low, f.low + f.bits)]
    assert len(bits) == len(set(bits)) and max(bits) < 64


def test_bits_as_the_isa_has_them():
    assert encode(start=0x8400, leading=16, stride=1024, swizzle=128) == 0x4000004000010840
    assert encode(swizzle=64) >> 62 == 2 and encode(swizzle=32) >> 62 == 3
    assert encode(base_offset=5) == 5 << 49


@pytest.mark.parametrize(
    "fields", [{"start": 8}, {"start": 1 << 18}, {"stride": -16}, {"swizzle": 16},
               {"base_offset": 8}, {"leading": 1 << 18}]
)  # fmt: skip
def test_what_a_descriptor_cannot_hold(fields: dict[str, int]):
    with pytest.raises(ArgumentError):
        encode(**fields)


BITS = {Float16: 16, Float32: 32, Float8E4M3FN: 8}
KINDS = [
    (kind, dtype)
    for kind in SmemLayoutAtomKind
    for dtype in BITS
    if kind.value.startswith("k") or dtype is Float16
]


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize("extent", [8, 64, 256])
def test_hardware_looks_where_the_layout_says(
    kind: SmemLayoutAtomKind, dtype: type, extent: int
):  # fmt: skip
    bits = BITS[dtype]
    mn_major = kind.value.startswith("mn")
    atom = make_smem_layout_atom(kind, dtype)
    row = atom.outer.shape[0 if mn_major else 1]
    shape = (max(extent, row) if mn_major else extent, 256 // bits if mn_major else row)
    k = 256 // bits
    if shape[1] < k:
        shape = (shape[0], k)
    layout = tile_to_shape(atom, shape, (0, 1))
    swizzle = {0: 0, 1: 32, 2: 64, 3: 128}[layout.inner.bits]
    offsets = [layout.outer((i, j)) for j in range(k) for i in range(shape[0])]
    found = describe(offsets, shape[0], k, bits, mn_major, swizzle)
    assert found is not None
    at = np.array(places(shape[0], k, bits, mn_major, found.leading, found.stride, swizzle))
    want = [layout.inner(o * bits // 8) for o in offsets]
    start = 1 << 16
    assert (swizzled(at + start, swizzle) - start).tolist() == want
    assert found.high << 32 | found.low == encode(
        leading=found.leading, stride=found.stride, swizzle=swizzle
    )


def test_what_no_descriptor_describes():
    rows = [64 * i + j for j in range(16) for i in range(64)]  # f16, without 8 x 16-byte bricks
    assert describe(rows, 64, 16, 16, False, 128) is not None
    moved = list(rows)
    moved[5], moved[6] = moved[6], moved[5]
    assert describe(moved, 64, 16, 16, False, 128) is None
    assert describe(rows, 64, 16, 16, True, 128) is None
    assert describe(rows, 64, 16, 16, False, 64) is None
    columns = [i + 64 * j for j in range(16) for i in range(64)]
    assert describe(columns, 64, 16, 16, True, 128) is not None


def test_a_swizzle_moves_16_bytes_by_the_row():
    own = Swizzle(3, 4, 3)
    addresses = np.arange(0, 4096, 16)
    assert swizzled(addresses, 128).tolist() == [own(int(a)) for a in addresses]
    assert swizzled(0x80, 128, 1) == 0x80 and swizzled(0x80, 128) == 0x90
