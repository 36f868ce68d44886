# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names, fragments and errors of a warpgroup's products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import ArgumentError, LayoutError, OpenCuTeError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import OperandMajorMode, warpgroup

pytestmark = pytest.mark.t0

F16, BF16, F32 = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
K, MN = OperandMajorMode.K, OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
Kind = warpgroup.SmemLayoutAtomKind
OP = warpgroup.MmaF16BF16Op(F16, F32, (64, 128, 16), SMEM, K, K)


def test_names():
    assert set(dir(warpgroup)) >= {
        "Field", "MmaF16BF16Op", "MmaF8Op", "MmaI8Op", "MmaTF32Op", "OperandMajorMode",
        "OperandSource", "SmemLayoutAtomKind", "commit_group", "fence", "make_smem_layout_atom",
        "wait_group",
    }  # fmt: skip
    assert warpgroup.OperandMajorMode is OperandMajorMode


def test_an_operation_knows_its_instruction():
    assert OP.record.name == "wgmma.m64n128k16.f32.f16.f16.ss"
    assert OP.shape == OP.shape_mnk == (64, 128, 16)
    assert warpgroup.MmaF16BF16Op(F16, F32, (64, 128, 16), SMEM, K, K) == OP
    assert warpgroup.MmaF16BF16Op(F16, F32, (64, 128, 16), SMEM, K, MN) != OP
    assert str(OP) == "warpgroup.MmaF16BF16Op wgmma.m64n128k16.f32.f16.f16.ss"
    tiled = cute.make_tiled_mma(OP, (2, 1, 1))
    assert (tiled.size, tiled.tile_mnk, tiled.shape_mnk) == (256, (128, 128, 16), (64, 128, 16))
    assert str(tiled.tv_layout_C) == "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))"
    assert str(tiled.tv_layout_A) == "(128,(64,16)):(0,(1,64))"
    assert tiled.partition_shape_C((128, 128)) == ((2, 2, 16), 1, 1)
    short = warpgroup.MmaF16BF16Op(F16, F32, (64, 8))
    assert str(cute.make_mma_atom(short).tv_layout_C) == (
        "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, 12, 16)), "no instruction of this shape"),
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (128, 64, 16)), "no instruction of this shape"),
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, 64, 8)), "no instruction of this shape"),
        (lambda: warpgroup.MmaI8Op(cutlass.Int8, cutlass.Int8, cutlass.Int32, (64, 40, 32)),
         "no instruction of this shape"),
        (lambda: warpgroup.MmaF16BF16Op(BF16, F16, (64, 64, 16)), "no such accumulator"),
        (lambda: warpgroup.MmaF16BF16Op(F32, F32, (64, 64, 8)), "does not take these types"),
        (lambda: warpgroup.MmaF8Op(F16, F16, F32, (64, 64, 32)), "does not take these types"),
        (lambda: warpgroup.MmaTF32Op((64, 64, 8), SMEM, MN, K), "contiguous along K"),
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, 64, 16), RMEM, MN, K), "contiguous along K"),
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, 64, 16), K, K, K), "no OperandSource"),
        (lambda: warpgroup.MmaF16BF16Op(F16, F32, (64, 64, 16), SMEM, "k", K),
         "no OperandMajorMode"),
    ],
)  # fmt: skip
def test_what_there_is_no_instruction_for(make: Callable[[], Any], words: str):
    with pytest.raises(TypeMismatchError, match=words) as e:
        make()
    assert e.value.code == "OC1272" and e.value.expected


def test_layout_atoms():
    found = {kind.name: str(warpgroup.make_smem_layout_atom(kind, F16)) for kind in Kind}
    assert found == {
        "K_SW128": "S<3,4,3> o 0 o (8,64):(64,1)",
        "K_SW64": "S<2,4,3> o 0 o (8,32):(32,1)",
        "K_SW32": "S<1,4,3> o 0 o (8,16):(16,1)",
        "K_INTER": "S<0,4,3> o 0 o (8,8):(8,1)",
        "MN_SW128": "S<3,4,3> o 0 o (64,8):(1,64)",
        "MN_SW64": "S<2,4,3> o 0 o (32,8):(1,32)",
        "MN_SW32": "S<1,4,3> o 0 o (16,8):(1,16)",
        "MN_INTER": "S<0,4,3> o 0 o (8,8):(1,8)",
    }
    assert (
        str(warpgroup.make_smem_layout_atom(Kind.K_SW128, cutlass.Int8).outer) == "(8,128):(128,1)"
    )
    assert str(warpgroup.make_smem_layout_atom(Kind.K_SW64, F32).outer) == "(8,16):(16,1)"
    with pytest.raises(TypeMismatchError, match="a kind and an element type"):
        warpgroup.make_smem_layout_atom("K_SW128", F16)


# ---------------------------------------------------------------- inside of kernels
@cute.kernel
def kernel(body: cutlass.Constexpr):
    body(utils.SmemAllocator())


@cute.jit
def host(body: cutlass.Constexpr):
    kernel(body).launch(grid=1, block=128)


def traced(body: Callable[[Any], Any]) -> Any:
    """What a body gives while a kernel is traced."""
    found: list[Any] = []
    with KNOBS.override(target="sim"):
        cute.compile(host, lambda smem: found.append(body(smem)))
    return found[0]


def shared(smem: Any, kind: Any, shape: tuple[int, ...], dtype: Any = F16) -> Any:
    """A tensor of shared memory, tiled by an atom."""
    layout = cute.tile_to_shape(
        warpgroup.make_smem_layout_atom(kind, dtype), shape, tuple(range(len(shape)))
    )
    return smem.allocate_tensor(dtype, layout.outer, 1024, layout.inner)


def test_fragments_are_descriptors_in_units_of_16_bytes():
    def body(smem: Any) -> Any:
        tiled = cute.make_tiled_mma(OP)
        thr = tiled.get_slice(cute.arch.thread_idx()[0])
        sA = shared(smem, Kind.K_SW128, (128, 128, 3))
        tCrA = tiled.make_fragment_A(thr.partition_A(sA))
        return str(tCrA), str(tCrA[None, None, 1, 2].layout), cute.size(tCrA, mode=[2])

    text, part, steps = traced(body)
    assert text == (
        "tensor<descriptor<f16, k-major, swizzle 128, leading 16, stride 1024> o "
        "(1,2,(4,2),(1,3)):(0,512,(2,1024),(0,2048))>"
    )
    assert (part, steps) == ("(1,2):(0,512)", 8)


def _gemm(smem: Any, **changes: Any) -> None:
    op = changes.get("op", OP)
    tiled = cute.make_tiled_mma(op)
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    sA = shared(smem, changes.get("a_kind", Kind.K_SW128), (64, 64))
    sB = shared(smem, changes.get("b_kind", Kind.K_SW128), (128, 64))
    a = tiled.make_fragment_A(thr.partition_A(sA))
    b = tiled.make_fragment_B(thr.partition_B(sB))
    acc = cute.make_rmem_tensor(tiled.partition_shape_C((64, 128)), changes.get("acc", F32))
    change = changes.get("change")
    d, a, b, c = (acc, a, b, acc) if change is None else change(acc, a, b, sA)
    cute.gemm(tiled, d, a, b, c)


@pytest.mark.parametrize(
    ("changes", "error", "code", "words"),
    [
        ({"a_kind": Kind.MN_SW128}, LayoutError, "OC1385", "no matrix descriptor"),
        ({"op": warpgroup.MmaF16BF16Op(F16, F32, (64, 128, 16), SMEM, K, MN)}, LayoutError,
         "OC1385", "make_fragment_B: no matrix descriptor"),
        ({"acc": F16}, TypeMismatchError, "OC1280", "does not take d"),
        ({"change": lambda d, a, b, s: (d, s, b, d)}, TypeMismatchError, "OC1281",
         "a is no tensor of descriptors"),
        ({"change": lambda d, a, b, s: (d, a, b, cute.make_rmem_tensor_like(d))},
         TypeMismatchError, "OC1284", "adds to its accumulator in place"),
        ({"change": lambda d, a, b, s: (d, a[None, None, 0], b, d)}, LayoutError, "OC1380",
         "ranks"),
        ({"change": lambda d, a, b, s: (d, b, a, d)}, TypeMismatchError, "OC1280",
         "made for another operand"),
        ({"change": lambda d, a, b, s: (d, cute.make_tensor(a.iterator, (1, 2, 4)), b, d)},
         LayoutError, "OC1382", "M, N or K"),
        ({"change": lambda d, a, b, s: (d, cute.make_tensor(a.iterator, (2, 1, 4)), b, d)},
         LayoutError, "OC1381", "first modes"),
        ({"change": lambda d, a, b, s: (a, a, b, a)}, TypeMismatchError, "OC1280", "take d"),
        ({"change": lambda d, a, b, s: (d, d, b, d)}, TypeMismatchError, "OC1280", "take a"),
        ({"change": lambda d, a, b, s: (d, a.load(), b, d)}, TypeMismatchError, "OC1282",
         "no elements to load"),
        ({"change": lambda d, a, b, s: (d, a, cute.make_tensor(b.iterator + 0.5, b.layout), d)},
         TypeMismatchError, "OC1211", "moves by integers"),
    ],
)  # fmt: skip
def test_errors(changes: Any, error: type[OpenCuTeError], code: str, words: str):
    traced(_gemm)  # the right one
    with pytest.raises(error, match=words) as e:
        traced(lambda smem: _gemm(smem, **changes))
    assert e.value.code == code


def test_a_wait_counts_at_compile_time():
    traced(lambda smem: warpgroup.wait_group(7))
    for group in (8, -1, None):
        with pytest.raises(ArgumentError, match="when the kernel is compiled"):
            traced(lambda smem, g=group: warpgroup.wait_group(g))


def test_what_is_not_in_shared_memory_has_no_descriptor():
    def body(smem: Any) -> None:
        tiled = cute.make_tiled_mma(OP)
        tiled.make_fragment_A(cute.make_rmem_tensor((8, 1, 1), F16))

    with pytest.raises(TypeMismatchError, match="read from shared memory"):
        traced(body)


def test_a_descriptor_can_change_in_a_loop():
    @cute.jit
    def body(smem: Any) -> None:
        tiled = cute.make_tiled_mma(OP)
        thr = tiled.get_slice(cute.arch.thread_idx()[0])
        a = tiled.make_fragment_A(thr.partition_A(shared(smem, Kind.K_SW128, (64, 64, 2))))
        b = tiled.make_fragment_B(thr.partition_B(shared(smem, Kind.K_SW128, (128, 64, 2))))
        acc = cute.make_rmem_tensor(tiled.partition_shape_C((64, 128)), F32)
        now, start = a[None, None, None, 0], b[None, None, None, 0].iterator
        for i in cutlass.range(cute.arch.block_dim()[0]):
            other = cute.make_tensor(start, b[None, None, None, 0].layout)
            cute.gemm(tiled, acc, now, other, acc)
            now = a[None, None, None, i % 2]
            start = start + 2

    traced(body)
