# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each MMA record covers its tiles once; a record that does not is refused."""

from __future__ import annotations

import dataclasses

import pytest

from opencute.arch.mma import ELEMENT_BITS, MMA_ATOMS, mma_atom
from opencute.base.errors import ArgumentError
from opencute.layout import Layout

pytestmark = pytest.mark.t0


@pytest.mark.parametrize("name", MMA_ATOMS)
def test_a_record_is_a_bijection_onto_its_tiles(name: str) -> None:
    r = mma_atom(name)
    m, n, k = r.mnk
    for layout, shape, type in ((r.a, (m, k), r.types[1]), (r.b, (n, k), r.types[2]),
                                (r.c, (m, n), r.types[3])):  # fmt: skip
        places = [layout(t, v) for t in range(r.threads) for v in range(layout[1].size())]
        assert sorted(places) == list(range(shape[0] * shape[1]))
        # Elements of a register are neighbours along k (along n for an accumulator).
        per = max(32 // ELEMENT_BITS[type], 1)
        for t in range(r.threads):
            for v in range(0, layout[1].size() - per + 1, per):
                row = {layout(t, v + i) % shape[0] for i in range(per)}
                assert r.threads == 1 or len(row) == 1


def test_layouts_that_the_manual_draws() -> None:
    r = mma_atom("m16n8k16.f32.f16.f16.f32")
    assert str(r.a) == "((4,8),(2,2,2)):((32,1),(16,8,128))"
    assert str(r.b) == "((4,8),(2,2)):((16,1),(8,64))"
    assert str(r.c) == "((4,8),(2,2)):((32,1),(16,8))"
    assert r.registers == (4, 2, 4)
    assert r.instruction == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert mma_atom("m8n8k4.f64.f64.f64.f64").registers == (1, 1, 2)
    assert mma_atom("m16n8k256.s32.b1.b1.s32.and").instruction.endswith(".and.popc")


def test_a_wrong_layout_is_refused() -> None:
    good = mma_atom("m16n8k8.f32.f16.f16.f32")
    with pytest.raises(ArgumentError, match="does not cover its tile once"):
        dataclasses.replace(good, a=Layout(((4, 8), (2, 2)), ((32, 1), (16, 1))))
    with pytest.raises(ArgumentError, match="spread over"):
        dataclasses.replace(good, c=Layout(((4, 4), (4, 2)), ((32, 1), (4, 16))))
    with pytest.raises(ArgumentError, match="no MMA atom"):
        mma_atom("m16n8k7.f32.f16.f16.f32")
