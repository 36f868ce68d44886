# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Partitions of a tiled MMA cover each operand; wrong use is refused where the user wrote it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute import layout as la
from opencute.base.errors import LayoutError, OpenCuTeError, TypeMismatchError
from opencute.layout import Layout

pytestmark = pytest.mark.t0

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
warp = cute.nvgpu.warp
OPS = [
    warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)),
    warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 8)),
    warp.MmaTF32Op((16, 8, 8)),
    warp.MmaF64Op((8, 8, 4)),
    warp.MmaI8Op(cutlass.Int8, cutlass.Uint8, (16, 8, 32)),
    warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32)),
    cute.nvgpu.MmaUniversalOp(cutlass.Float32),
]


def places(layout: Any) -> list[int]:
    return [layout(i) for i in range(la.size(layout))]


@st.composite
def tilings(draw: Any) -> Any:
    op = draw(st.sampled_from(OPS))
    atoms = tuple(draw(st.sampled_from([1, 2, 4])) for _ in range(2))
    more = tuple(draw(st.sampled_from([1, 2])) for _ in range(3))
    shape = op.shape
    perm = tuple(s * a * f for s, a, f in zip(shape, (*atoms, 1), more, strict=True))
    given_ = tuple(p if draw(st.booleans()) else None for p in perm)
    return cute.make_tiled_mma(op, (*atoms, 1), given_)


@QUICK
@given(mma=tilings())
def test_thread_value_layouts_cover_the_tile(mma: Any) -> None:
    m, n, k = mma.tile_mnk
    _, am, an, _ = (la.size(mma.thr_layout_vmnk, mode=[i]) for i in range(4))
    for layout, size, repeats in (
        (mma.tv_layout_A_tiled, m * k, an),
        (mma.tv_layout_B_tiled, n * k, am),
        (mma.tv_layout_C_tiled, m * n, 1),
    ):
        assert la.size(layout, mode=[0]) == mma.size
        assert sorted(places(layout)) == sorted(list(range(size)) * repeats)


@QUICK
@given(mma=tilings(), times=st.tuples(*[st.integers(1, 2)] * 3))
def test_partitions_cover_a_larger_tensor(mma: Any, times: tuple[int, int, int]) -> None:
    m, n, k = (a * b for a, b in zip(mma.tile_mnk, times, strict=True))
    for which, shape in (("A", (m, k)), ("B", (n, k)), ("C", (m, n))):
        who, values = mma.view(Layout(shape), which)
        seen = sorted(w + v for w in places(who) for v in places(values))
        assert seen == list(range(shape[0] * shape[1]))
        assert getattr(mma, f"partition_shape_{which}")(shape) == values.shape


@QUICK
@given(mma=tilings(), num=st.sampled_from([1, 2, 4]))
def test_a_copy_for_an_operand_moves_what_the_mma_takes(mma: Any, num: int) -> None:
    """partition_S, with the registers retiled: element i of one is element i of the other."""
    if mma.op.a_dtype not in (cutlass.Float16, cutlass.BFloat16):
        return
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, num), mma.op.a_dtype)
    if la.size(mma.tv_layout_A_tiled, mode=[1]) % atom.num_values:
        return
    copy = cute.make_tiled_copy_A(atom, mma)
    m, _, k = mma.tile_mnk
    who, values = copy.view_dst(Layout((m, k)))
    own, fragment = mma.view(Layout((m, k)), "A")
    threads = mma.tv_layout_A_tiled
    order = copy.retile(Layout(fragment.shape))
    for t in range(0, mma.size, 7):
        held = [threads(t, v) for v in range(la.size(fragment))]
        moved = [who(t) + p for p in places(values)]
        assert moved == [held[i] for i in places(order)]
    assert la.size(own) * la.size(fragment) == m * k


def test_printed_as_the_field_knows_it() -> None:
    mma = cute.make_tiled_mma(OPS[0], (2, 2, 1), (32, 32, 16))
    assert str(mma) == (
        "Tiled MMA\n"
        "  Thr Layout VMNK: (32,2,2,1):(1,32,64,0)\n"
        "  Permutation MNK: (32:1,32:1,16:1)\n"
        "MMA Atom\n"
        "  ThrID:           32:1\n"
        "  Shape MNK:       (16,8,16)\n"
        "  TV Layout A:     ((4,8),(2,2,2)):((32,1),(16,8,128))\n"
        "  TV Layout B:     ((4,8),(2,2)):((16,1),(8,64))\n"
        "  TV Layout C:     ((4,8),(2,2)):((32,1),(16,8))"
    )
    assert mma == cute.make_tiled_mma(OPS[0], (2, 2, 1), (32, 32, 16))
    assert hash(mma) == hash(cute.make_tiled_mma(OPS[0], (2, 2, 1), (32, 32, 16)))
    assert mma.get_tile_size(1) == 32 and mma.size == 128


# ---------------------------------------------------------------- wrong use
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("major", [(1, 16), (16, 1)])
def test_matrices_with_rows_or_columns_side_by_side(
    major: tuple[int, int], trans: bool, store: bool
) -> None:
    """Where an operand is major in the other mode, the message says what to do, and that works."""

    def body() -> None:
        mma = cute.make_tiled_mma(OPS[0])
        op = warp.StMatrix8x8x16bOp if store else warp.LdMatrix8x8x16bOp
        atom = cute.make_copy_atom(op(trans, 4), mma.op.a_dtype)
        tiled = cute.make_tiled_copy_A(atom, mma)
        s = cute.make_tensor(
            cutlass.utils.SmemAllocator().allocate_array(mma.op.a_dtype, 256, byte_alignment=16),
            cute.make_layout((16, 16), stride=major),
        )
        lane = tiled.get_slice(cute.arch.thread_idx()[0])
        r = cute.make_rmem_tensor(8, mma.op.a_dtype)
        r.fill(0)
        if store:
            cute.copy(tiled, cute.make_tensor(r.iterator, lane.partition_S(s).shape),
                      lane.partition_D(s))  # fmt: skip
        else:
            own = lane.partition_S(s)
            cute.copy(tiled, own, cute.make_tensor(r.iterator, own.shape))

    if trans == (major == (1, 16)):
        on_device(body, block=32)
        return
    text = refused(body, "OC1377")
    name = "StMatrix" if store else "LdMatrix"
    assert f"take {name}8x8x16bOp(transpose={not trans}, ...)" in text


F16, F32 = cutlass.Float16, cutlass.Float32


def refused(body: Any, code: str, *arrays: Any) -> str:
    with pytest.raises(OpenCuTeError) as e:
        on_device(body, *arrays, block=32)
    assert e.value.code == code
    assert e.value.loc is not None and e.value.loc.file == __file__
    return str(e.value)


def fragments(a: Any = F16, k: int = 1) -> tuple[Any, Any, Any]:
    return (
        cute.make_rmem_tensor((8, 1, k), a), cute.make_rmem_tensor((4, 1, 1), F16),
        cute.make_rmem_tensor((4, 1, 1), F32),
    )  # fmt: skip


def test_an_operand_of_another_type() -> None:
    def body(out: Any) -> None:
        a, b, c = fragments(cutlass.BFloat16)
        cute.gemm(cute.make_tiled_mma(OPS[0]), c, a, b, c)

    assert "does not take a" in refused(body, "OC1280", np.zeros(1, np.float32))


def test_an_operand_in_memory() -> None:
    def body(out: Any) -> None:
        _, b, c = fragments()
        cute.gemm(cute.make_tiled_mma(OPS[0]), c, out, b, c)

    assert "registers" in refused(body, "OC1281", np.zeros((8, 1, 1), np.float16))


def test_shapes_that_do_not_fit() -> None:
    def values(out: Any) -> None:
        a, b, c = fragments()
        cute.gemm(cute.make_tiled_mma(OPS[1]), c, a, b, c)

    def extents(out: Any) -> None:
        a, b, c = fragments(k=2)
        cute.gemm(cute.make_tiled_mma(OPS[0]), c, a, b, c)

    def ranks(out: Any) -> None:
        a, b, c = fragments()
        cute.gemm(cute.make_tiled_mma(OPS[0]), c, a[None, 0, 0], b, c)

    out = np.zeros(1, np.float32)
    refused(values, "OC1280", out)
    refused(extents, "OC1382", out)
    refused(ranks, "OC1380", out)


def test_no_such_instruction() -> None:
    with pytest.raises(TypeMismatchError, match="no such instruction"):
        warp.MmaF16BF16Op(F16, F32, (16, 8, 32))
    with pytest.raises(TypeMismatchError, match="no such instruction"):
        warp.MmaF16BF16Op(F32, F32, (16, 8, 16))
    with pytest.raises(TypeMismatchError, match="1, 2 or 4"):
        warp.LdMatrix8x8x16bOp(False, 3)
    with pytest.raises(TypeMismatchError, match="transpose"):
        warp.LdMatrix8x16x8bOp(True, 4)
    with pytest.raises(TypeMismatchError, match="no fma"):
        cute.nvgpu.MmaUniversalOp(cutlass.Int32)
    with pytest.raises(TypeMismatchError, match="not an MMA operation"):
        cute.make_tiled_mma(cute.nvgpu.CopyUniversalOp())


def test_atoms_that_do_not_fit_a_layout() -> None:
    with pytest.raises(LayoutError, match="permutation of M"):
        cute.make_tiled_mma(OPS[0], (2, 1, 1), (24, 8, 16))
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), F16)
    with pytest.raises(LayoutError, match="does not divide"):
        cute.make_tiled_copy_tv(ldmatrix, cute.make_layout((8, 1)), cute.make_layout((1, 8)))
    with pytest.raises(LayoutError, match="leaves the tile"):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F32)
        cute.make_tiled_copy(atom, Layout((4, 4), (1, 8)), (4, 4))
    with pytest.raises(LayoutError, match="no instruction copies"):
        cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), F16, num_bits_per_copy=16)
    with pytest.raises(LayoutError, match="matrices are not made"):
        cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), F32)


def test_an_asynchronous_copy_between_the_wrong_memories_or_unaligned() -> None:
    def atom(bits: int) -> Any:
        return cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), F32, num_bits_per_copy=bits)

    def to_registers(src: Any) -> None:
        cute.copy(atom(32), src, cute.make_rmem_tensor(4, F32))

    def unaligned(src: Any) -> None:
        smem = cutlass.utils.SmemAllocator().allocate_tensor(F32, cute.make_layout(2), 16)
        cute.copy(atom(64), cute.make_tensor(src.iterator + 1, cute.make_layout(2)), smem)

    def scattered(src: Any) -> None:
        smem = cutlass.utils.SmemAllocator().allocate_tensor(F32, Layout(4, 2), 16)
        cute.copy(atom(64), src, smem)

    data = np.zeros(4, np.float32)
    refused(to_registers, "OC1277", data)
    refused(unaligned, "OC1378", data)
    refused(scattered, "OC1377", data)


def test_a_processor_without_the_instruction() -> None:
    from opencute.base.knobs import KNOBS

    def body(out: Any) -> None:
        op = OPS[5]
        a = cute.make_rmem_tensor((16, 1, 1), op.a_dtype)
        b = cute.make_rmem_tensor((8, 1, 1), op.b_dtype)
        c = cute.make_rmem_tensor((4, 1, 1), F32)
        c.fill(0.0)
        cute.gemm(cute.make_tiled_mma(op), c, a, b, c)

    with KNOBS.override(target="sim:sm_80"):
        assert "sm_89" in refused(body, "OC1066", np.zeros(1, np.float32))


def test_part_of_a_warp_is_not_enough() -> None:
    @cute.jit
    def body(out: Any) -> None:
        t, _, _ = cute.arch.thread_idx()
        if t < 16:
            a, b, c = fragments()
            a.fill(0.0)
            b.fill(0.0)
            c.fill(0.0)
            cute.gemm(cute.make_tiled_mma(OPS[0]), c, a, b, c)
            out[t] = c[0]

    assert "not all threads of a warp" in refused(body, "OC3024", np.zeros(32, np.float32))
