# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Records of a warpgroup's instructions, against the fragments that the PTX ISA draws."""

from __future__ import annotations

import pytest

from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.wgmma import ROWS, THREADS, WgmmaAtom, wgmma_atom, wgmma_names
from opencute.base.errors import ArgumentError
from opencute.layout import Layout

pytestmark = pytest.mark.t0

NAMES = list(wgmma_names())


def test_there_is_every_instruction():
    assert len(NAMES) == len(set(NAMES)) == 2 * (12 * 32 + 4 * 18)
    kinds = {name.split(".", 2)[2] for name in NAMES}
    assert {"f32.f16.f16.ss", "f16.e4m3.e5m2.rs", "s32.u8.s8.rs", "f32.tf32.tf32.ss"} <= kinds


@pytest.mark.parametrize("kind", sorted({n.split(".", 2)[2] for n in NAMES}))
def test_fragments_hold_each_element_once(kind: str):
    for name in [n for n in NAMES if n.split(".", 2)[2] == kind][::5]:
        atom = wgmma_atom(name)
        m, n, k = atom.mnk
        assert (m, k) == (ROWS, 256 // ELEMENT_BITS[atom.types[1]])
        assert sorted(atom.c.offsets()) == list(range(m * n))
        if atom.a_in_registers:
            assert sorted(atom.a.offsets()) == list(range(m * k))
        else:
            assert atom.a[0].stride == 0 and atom.a[1].offsets() == list(range(m * k))
        assert atom.b[0].stride == 0 and atom.b[1].offsets() == list(range(n * k))


def test_accumulators_are_as_drawn():
    atom = wgmma_atom("wgmma.m64n24k16.f32.f16.f16.ss")
    for thread in range(THREADS):
        for i in range(12):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
            column = 8 * (i // 4) + thread % 4 * 2 + i % 2
            assert atom.c((thread, i)) == row + ROWS * column


@pytest.mark.parametrize(
    ("name", "per"), [("f32.f16.f16", 2), ("f32.tf32.tf32", 1), ("s32.s8.u8", 4)]
)
def test_left_operands_are_as_drawn(name: str, per: int):
    atom = wgmma_atom(f"wgmma.m64n8k{8 * per}.{name}.rs")
    for thread in range(THREADS):
        for i in range(4 * per):
            register, inside = divmod(i, per)
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register % 2)
            column = thread % 4 * per + inside + 4 * per * (register // 2)
            assert atom.a((thread, i)) == row + ROWS * column


def test_registers_and_modifiers():
    atom = wgmma_atom("wgmma.m64n256k16.f16.f16.f16.rs")
    assert (atom.registers, atom.values) == ((4, 64), (8, 4096, 128))
    assert atom.modifiers(a_mn=False, b_mn=True) == ("1", "1", "1")
    assert atom.instruction == "wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16"
    atom = wgmma_atom("wgmma.m64n8k16.f32.bf16.bf16.ss")
    assert atom.modifiers(a_mn=True, b_mn=False) == ("1", "1", "1", "0")
    assert wgmma_atom("wgmma.m64n8k32.s32.s8.s8.ss").modifiers(a_mn=False, b_mn=False) == ()
    assert wgmma_atom("wgmma.m64n8k8.f32.tf32.tf32.ss").modifiers(False, False) == ("1", "1")
    assert atom.flops == 2 * 64 * 8 * 16


@pytest.mark.parametrize(
    "name",
    [
        "wgmma.m64n12k16.f32.f16.f16.ss",
        "wgmma.m64n40k32.s32.s8.s8.ss",
        "wgmma.m64n264k16.f32.f16.f16.ss",
        "wgmma.m64n8k8.f32.f16.f16.ss",
        "wgmma.m64n8k16.f16.bf16.bf16.ss",
        "wgmma.m64n8k16.f32.f16.bf16.ss",
        "m16n8k16.f32.f16.f16.f32",
    ],
)
def test_there_are_no_others(name: str):
    with pytest.raises(ArgumentError, match="no warpgroup MMA atom"):
        wgmma_atom(name)


def test_a_layout_that_leaves_places_out_is_refused():
    good = wgmma_atom("wgmma.m64n16k16.f32.f16.f16.ss")
    args = (good.name, good.mnk, good.types, good.a, good.b)
    assert WgmmaAtom(*args, good.c).c is good.c
    twice = Layout(((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 0)))
    with pytest.raises(ArgumentError, match="C does not cover"):
        WgmmaAtom(*args, twice)
