# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors as native code reads them, against what Python reads."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from opencute.jit.entry import code
from opencute.kernels.grouped_gemm.words import Fact, read, read_slowly, taken_apart

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.t1


def test_the_same_words_as_in_python() -> None:
    x = torch.zeros(40, 64, dtype=torch.bfloat16)
    lists = ([x, x[3:9, 8:], x.T, x[:0]], (x[1], torch.zeros(5)), [torch.nn.Parameter(x)])
    with torch.no_grad():
        words = read(lists)
        assert words is not None
        assert words == read_slowly(lists)
    places, facts = taken_apart(words)
    assert places[1] == x[3:9, 8:].data_ptr()
    assert facts[1].tolist()[Fact.ROWS :] == [6, 56, 64, 1]
    assert facts[4].tolist()[Fact.ROWS :] == [64, -1, 1, 0]


def test_nothing_is_nothing() -> None:
    assert read(([], ())) == b""


def test_addresses_that_are_not_aligned() -> None:
    x = torch.zeros(9, 9, dtype=torch.float16)[:, 1:]
    words = read(([x],))
    assert words is not None
    assert taken_apart(words)[1][0][Fact.DTYPE] >> 32 == x.data_ptr() % 16


def test_what_python_has_to_look_at() -> None:
    x = torch.zeros(4, 4)
    odd = torch.imag(torch.zeros(4, 4, dtype=torch.complex64).conj())
    deep = torch.zeros(2, 2, 2)
    for wrong in (odd, deep, torch.zeros(()), 3, None, np.zeros((4, 4)), x.requires_grad_()):
        assert read(([torch.zeros(2, 2), wrong],)) is None
    with torch.no_grad():
        assert read(([x],)) is not None
    assert read((iter([x]),)) is None  # pyright: ignore[reportArgumentType]
    assert read((3,)) is None


def test_no_reference_is_lost_or_kept() -> None:
    entry = code.load()
    x, none = torch.zeros(3, 3), None
    given = [x] * 10
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(none)
    for _ in range(200):
        entry.read_matrices(given)
        entry.read_matrices([3])
    after = sys.getrefcount(x), sys.getrefcount(none)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 100
