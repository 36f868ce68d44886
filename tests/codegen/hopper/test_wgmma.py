# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Products of warpgroups as machine code: ptxas takes every instruction, and keeps accumulators in
their registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from codegen.compiling import assemble
from codegen.samples import kernel_module
from opencute.arch.wgmma import TYPES, WgmmaAtom, wgmma_atom, wgmma_shapes
from opencute.codegen.device import DeviceCode
from opencute.codegen.sass import read_sass
from opencute.dialects import arith, cute, ptx, scf
from opencute.dialects.cute import LayoutAttr, PtrType, Tile
from opencute.dialects.hopper import wgmma
from opencute.dialects.tiled import ATOM_TYPES
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op, Value
from opencute.ir.types import F32, I1, I32

pytestmark = pytest.mark.t1

HIGH = 1 << 30 | 1024 >> 4


def tile(pointer: Value, values: int, *rest: tuple[int, int]) -> Tile:
    """A fragment of (values, rest...), compact."""
    shape, stride, step = [values], [1], values
    for n, _ in rest:
        shape.append(n)
        stride.append(step)
        step *= n
    return Tile(pointer, LayoutAttr(tuple(shape), tuple(stride)))


def product(
    atom: WgmmaAtom, d: Value, a: Value, b: Value, adds: Value, k: int = 1,
    majors: tuple[str, str] = ("k", "k"),
) -> None:  # fmt: skip
    """A product of k steps on one accumulator."""
    va, _, vc = atom.values
    a_layout = LayoutAttr((va if atom.a_in_registers else 1, 1, k), (1, 0, 2 if va else 0))
    if atom.a_in_registers:
        a_layout = LayoutAttr((va, 1, k), (1, 0, va))
    wgmma.cute_wgmma(
        atom.name, Tile(d, LayoutAttr((vc, 1, 1), (1, 0, 0))), a, a_layout, b,
        LayoutAttr((1, 1, k), (0, 0, 2)), adds, majors=majors, highs=(HIGH, HIGH),
    )  # fmt: skip


def const(value: int, type: Any = I32) -> Value:
    return arith.constant(value, type)


def kernel(body: Callable[[Value, Value, Value, Value], None]) -> Op:
    """A kernel of 128 threads with (output, descriptors of A and B, a count)."""
    return kernel_module("products", (PtrType(F32, "gmem", 16), I32, I32, I32), body, 128)


def store(out: Value, d: Value, count: int, which: int = 0) -> None:
    """Each thread writes its accumulator."""
    assert isinstance(d.type, PtrType)
    row = arith.binary("muli", ptx.sreg("tid.x"), const(count))
    row = arith.binary("addi", row, const(128 * count * which))
    to = cute.ptr_add(cute.recast(out, PtrType(d.type.element, "gmem", 16)), row, 16)
    layout = LayoutAttr((count, 1), (1, 0))
    cute.copy("universal_copy", 0, Tile(d, layout), Tile(to, layout))


def quiet(code: DeviceCode) -> None:
    """Nothing was serialised or spilled."""
    assert code.report.diagnostics == ()
    assert all(f.stack == f.spill_stores == 0 for f in code.report.functions)


@pytest.mark.parametrize("types", TYPES, ids=".".join)
def test_every_instruction_is_taken(types: tuple[str, str, str]):
    """The first N, the last and one more of each; every N for some type."""
    every = wgmma_shapes(types[0])
    shapes = (every[0], *every[TYPES.index(types) :: len(TYPES)][:2], every[-1])
    k = 256 // {"f16": 16, "bf16": 16, "tf32": 32}.get(types[1], 8)
    names: list[str] = []

    def body(out: Value, a: Value, b: Value, n: Value) -> None:
        for extent in sorted(set(shapes)):
            for source in ("ss", "rs"):
                atom = wgmma_atom(f"wgmma.m64n{extent}k{k}.{'.'.join(types)}.{source}")
                vc = atom.values[2]
                d = cute.alloca(ATOM_TYPES[types[0]], vc)
                left = a
                if source == "rs":
                    left = cute.alloca(ATOM_TYPES[types[1]], atom.values[0])
                for majors in _majors(atom):
                    wgmma.fence()
                    product(atom, d, left, b, const(0, I1), 1, majors)
                    names.append(atom.instruction)
                    wgmma.commit()
                    wgmma.wait(0)
                    store(out, d, vc)

    code = assemble(kernel(body))
    assert [line.split(" ")[0] for line in code.ptx.replace("\t", "").splitlines()
            if line.strip().startswith("wgmma.mma_async")] == names  # fmt: skip


def _majors(atom: WgmmaAtom) -> list[tuple[str, str]]:
    if not atom.mn_major or atom.mnk[1] not in (8, 256):
        return [("k", "k")]
    first = ("k",) if atom.a_in_registers else wgmma.MAJORS
    return [(a, b) for a in first for b in wgmma.MAJORS]


def loop(n: Value, body: Callable[[Value], None]) -> None:
    """A loop of n turns."""
    region, block = new_block([I32])
    with insert_at(block):
        body(block.args[0])
        scf.yield_([])
    scf.for_(const(0), n, const(1), [], region)


@pytest.mark.parametrize(("n", "tiles"), [(64, 1), (128, 1), (256, 1), (128, 2)])
def test_a_main_loop_moves_no_accumulator(n: int, tiles: int):
    """Four steps of each tile, then a wait that leaves the last group."""
    atom = wgmma_atom(f"wgmma.m64n{n}k16.f32.f16.f16.ss")

    def body(out: Value, a: Value, b: Value, turns: Value) -> None:
        ds = [cute.alloca(F32, n // 2) for _ in range(tiles)]

        def turn(i: Value) -> None:
            adds = arith.cmpi("ne", i, const(0))
            stage = arith.binary("muli", i, const(512))
            wgmma.fence()
            for s in range(4):
                for j, d in enumerate(ds):
                    left = arith.binary("addi", a, const(2 * s + 2048 * j))
                    left = arith.binary("addi", left, stage)
                    right = arith.binary("addi", arith.binary("addi", b, stage), const(2 * s))
                    product(atom, d, left, right, const(1, I1) if s else adds)
            wgmma.commit()
            wgmma.wait(1)

        loop(turns, turn)
        wgmma.wait(0)
        for j, d in enumerate(ds):
            store(out, d, n // 2, j)

    code = assemble(kernel(body))
    quiet(code)
    assert code.ptx.count("wgmma.mma_async") == 4 * tiles
    sass = read_sass(code.cubin)
    text = list(sass.instructions)
    at = [i for i, x in enumerate(text) if "HGMMA" in x]
    assert len(at) == 4 * tiles
    inside = text[at[0] : at[-1]]
    moves = [x for x in inside if x.split()[0].startswith(("MOV", "IMAD.MOV", "FADD", "FMUL"))]
    assert moves == []
    waits = [x for x in text if "DEPBAR" in x]
    assert len(waits) == 2


def test_a_read_before_the_wait_is_serialised_and_said():
    """The broken kernel: ptxas says so, which becomes advice with the product's line."""
    atom = wgmma_atom("wgmma.m64n64k16.f32.f16.f16.ss")

    def body(out: Value, a: Value, b: Value, turns: Value) -> None:
        d = cute.alloca(F32, 32)
        wgmma.fence()
        product(atom, d, a, b, const(0, I1))
        store(out, d, 32)
        wgmma.commit()
        wgmma.wait(0)

    code = assemble(kernel(body))
    assert any("C75" in x for x in code.report.diagnostics)
