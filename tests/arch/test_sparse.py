# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Records of sparse matrix instructions: they cover their tiles, and agree with dense ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opencute.arch.mma import ELEMENT_BITS, MMA_ATOMS
from opencute.arch.sparse import (
    PAIRS,
    SPARSE_MMA_ATOMS,
    SparseMmaAtom,
    run_of,
    sparse_mma_atom,
)
from opencute.base.errors import ArgumentError
from opencute.layout import Layout

pytestmark = pytest.mark.t0
RECORDS = list(SPARSE_MMA_ATOMS.values())


@pytest.mark.parametrize("r", RECORDS, ids=lambda r: r.name)
def test_every_selector_says_all_of_a_once(r: SparseMmaAtom) -> None:
    m, _, k = r.mnk
    seen: set[int] = set()
    for selector in range(r.selectors):
        threads = r.contributors(selector)
        assert not seen & set(threads)
        seen |= set(threads)
        places = [r.e(t, v) for t in threads for v in range(r.e[1].size())]
        assert sorted(places) == list(range(m * k))
    assert seen == set(range(32))


@pytest.mark.parametrize("r", RECORDS, ids=lambda r: r.name)
def test_runs_of_metadata_are_runs_of_a(r: SparseMmaAtom) -> None:
    m, width = r.mnk[0], run_of(r.types[1])[1]
    for t in range(32):
        for run in range(8):
            first = r.e(t, run * width)
            assert first // m % width == 0
            assert [r.e(t, run * width + i) for i in range(width)] == [
                first + m * i for i in range(width)
            ]


@pytest.mark.parametrize("r", RECORDS, ids=lambda r: r.name)
def test_fragments_are_those_of_dense_instructions(r: SparseMmaAtom) -> None:
    assert (r.dense.a, r.dense.c) == (r.a, r.c) and r.flops == 2 * r.dense.flops
    whole = MMA_ATOMS.get(r.name.removeprefix("sp."))
    if whole is not None:
        assert [whole.b(t, v) for t in range(32) for v in range(whole.values[1])] == [
            r.b(t, v) for t in range(32) for v in range(r.values[1])
        ]
    assert all(n * 32 == v * ELEMENT_BITS[t]
               for n, v, t in zip(r.registers, r.values, r.types[1:], strict=True))  # fmt: skip


def test_codes() -> None:
    assert [(c & 3, c >> 2) for c in PAIRS] == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]


def test_a_record_checks_itself() -> None:
    r = sparse_mma_atom("sp.m16n8k32.f32.f16.f16.f32")
    with pytest.raises(ArgumentError, match="metadata"):
        replace(r, e=Layout(((2, 2, 8), (16, 2)), ((0, 0, 1), (16, 8))))
    with pytest.raises(ArgumentError, match="layout of B"):
        replace(r, b=r.c)
    with pytest.raises(ArgumentError, match="no sparse MMA atom"):
        sparse_mma_atom("sp.m16n8k8.f32.f16.f16.f32")
