# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse products of warpgroups: the simulator against NumPy, ptxas, and (t2) the GPU.

Which elements of A are kept is random, operands are small integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from lang.hopper.products import NUMPY
from opencute import cute, utils
from opencute.arch.mma import ELEMENT_BITS
from opencute.arch.sparse import PAIRS, TF32_CODES, metadata_layout, run_of
from opencute.arch.wgmma import WgmmaAtom, wgmma_atom
from opencute.base.errors import (
    ArgumentError,
    LayoutError,
    OpenCuTeError,
    SimulationError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import warpgroup
from opencute.cute.runtime import from_dlpack
from opencute.experimental import primitives as prims

PLACES = [
    pytest.param("sim:sm_90a", marks=pytest.mark.t0),
    pytest.param("cuda", marks=pytest.mark.t2),
]
CLASSES = {
    "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.Float32,
    "f32": cutlass.Float32, "s8": cutlass.Int8, "u8": cutlass.Uint8, "s32": cutlass.Int32,
    "e4m3": cutlass.Float8E4M3FN, "e5m2": cutlass.Float8E5M2,
}  # fmt: skip
NAMES = [
    "m64n16k32.f32.f16.f16", "m64n32k32.f16.f16.f16", "m64n8k32.f32.bf16.bf16",
    "m64n24k16.f32.tf32.tf32", "m64n16k64.s32.s8.u8", "m64n8k64.s32.u8.s8",
    "m64n16k64.f32.e4m3.e5m2", "m64n8k64.f16.e5m2.e4m3",
]  # fmt: skip
STEPS = 2


@cute.kernel
def kernel(name: cutlass.Constexpr, selector: cutlass.Constexpr, layouts: cutlass.Constexpr,
           fault: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor,
           gD: cute.Tensor):  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    la, lb = layouts
    memory = utils.SmemAllocator()
    sides = []
    for step in cutlass.range_constexpr(STEPS):
        b = memory.allocate_tensor(gB.element_type, lb.outer, 1024, lb.inner)
        for i in range(tid, cute.size(lb.outer), 128):
            b[i] = gB[step, None, None][i]
        if cutlass.const_expr(la is None):
            a = cute.make_rmem_tensor(gA.shape[2], gA.element_type)
            a.store(gA[step, tid, None].load())
        else:
            a = memory.allocate_tensor(gA.element_type, la.outer, 1024, la.inner)
            for i in range(tid, cute.size(la.outer), 128):
                a[i] = gA[step, None, None][i]
        sides.append((a, b))
    if cutlass.const_expr(fault != "no fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    acc = cute.make_rmem_tensor(gD.shape[1], gD.element_type)
    warpgroup.fence()
    for step in cutlass.range_constexpr(STEPS):
        a, b = sides[step]
        word = gE[step, tid]
        if cutlass.const_expr(fault == "no metadata"):
            word = memory.allocate_tensor(cutlass.Int32, cute.make_layout(128))[tid]
        prims.wgmma_sp(name, acc, a, b, word, selector, accumulate=step > 0)
    warpgroup.commit_group()
    if cutlass.const_expr(fault != "no wait"):
        warpgroup.wait_group(0)
    gD[tid, None].store(acc.load())


def host(name: str, selector: int, widths: Any, in_registers: bool, fault: str = "") -> Any:
    r = wgmma_atom(f"wgmma.sp.{name}.ss")
    kind = warpgroup.SmemLayoutAtomKind
    shapes = ((64, r.a_k), r.mnk[1:])

    @cute.jit
    def launch(gA: cute.Tensor, gB: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor) -> None:
        layouts = [
            cute.tile_to_shape(
                warpgroup.make_smem_layout_atom(kind[f"K_{w}"], t.element_type), shape, (0, 1)
            )
            for w, t, shape in zip(widths, (gA, gB), shapes, strict=True)
        ]
        if cutlass.const_expr(in_registers):
            layouts[0] = None
        kernel(name, selector, tuple(layouts), fault, gA, gB, gE, gD).launch(grid=1, block=128)

    return launch


def sparse(r: WgmmaAtom, rng: Any) -> tuple[Any, Any, Any]:
    """A with its zeros, its kept elements, and the four bits of each run."""
    m, _, k = r.mnk
    kept_of, width = run_of(r.types[1])
    kept = rng.integers(0 if r.types[1] == "u8" else -3, 4, (m, k // width, kept_of))
    codes = rng.choice(list(PAIRS if kept_of == 2 else TF32_CODES), (m, k // width))
    whole = np.zeros((m, k // width, width), kept.dtype)
    for i in range(kept_of):
        at = codes >> 2 * i & 3 if kept_of == 2 else np.vectorize(TF32_CODES.get)(codes)
        np.put_along_axis(whole, at[..., None], kept[..., i : i + 1], axis=2)
    return whole.reshape(m, k), kept.reshape(m, -1), codes


def metadata(r: WgmmaAtom, codes: Any, selector: int) -> Any:
    """The word of each thread; those that are not asked have nonsense."""
    k, width = r.mnk[2], run_of(r.types[1])[1]
    e = metadata_layout(16, k, ELEMENT_BITS[r.types[1]])
    words = np.full(128, 0xFFFFFFFF, np.uint64)
    each = 4 // r.selectors
    for t in range(128):
        if t % 4 // each == selector:
            places = [e(t % 32, run * width) for run in range(8)]
            rows = codes[16 * (t // 32) :]
            fields = [int(rows[p % 16, p // 16 // width]) for p in places]
            words[t] = sum(f << 4 * i for i, f in enumerate(fields))
    return words.astype(np.uint32).view(np.int32)


def arguments(name: str, selector: int, in_registers: bool) -> tuple[list[Any], Any]:
    r = wgmma_atom(f"wgmma.sp.{name}.{'rs' if in_registers else 'ss'}")
    rng = np.random.default_rng(len(name) + selector)
    m, n, k = r.mnk
    parts: list[tuple[Any, ...]] = []
    want = np.zeros((m, n))
    for _ in range(STEPS):
        whole, kept, codes = sparse(r, rng)
        b = rng.integers(0 if r.types[2] == "u8" else -3, 4, (n, k))
        want = want + whole @ b.T
        if in_registers:
            places = np.array([[r.a(t, v) for v in range(r.values[0])] for t in range(128)])
            kept = kept[places % m, places // m]
        parts.append((kept, b, metadata(r, codes, selector)))
    kinds = [NUMPY[CLASSES[t]] for t in r.types]
    a, b, e = (np.stack(x) for x in zip(*parts, strict=True))
    out = np.zeros((128, r.values[2]), kinds[0])
    return [a.astype(kinds[1]), b.astype(kinds[2]), e, out], want


def wrapped(name: str, given: list[Any]) -> list[Any]:
    tensors = [from_dlpack(x, assumed_align=16) for x in given]
    for t, word in zip(tensors, name.split(".")[2:], strict=False):
        t.element_type = CLASSES[word]
    return tensors


def run(where: str, name: str, selector: int, in_registers: bool, widths: Any = ("SW32", "SW64"),
        fault: str = "", change: int = 0) -> tuple[Any, Any]:  # fmt: skip
    given, want = arguments(name, selector, in_registers)
    given[2] ^= change
    with KNOBS.override(target=where, sim_check=True):
        host(name, selector, widths, in_registers, fault)(*wrapped(name, given))
    r = wgmma_atom(f"wgmma.sp.{name}.ss")
    places = np.array([[r.c(t, v) for v in range(r.values[2])] for t in range(128)])
    got = np.zeros(want.shape)
    got[places % 64, places // 64] = given[3].astype(np.float64)
    return got, want


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_products(where: str, name: str, in_registers: bool) -> None:
    for selector in range(wgmma_atom(f"wgmma.sp.{name}.ss").selectors):
        got, want = run(where, name, selector, in_registers)
        np.testing.assert_array_equal(got, want, err_msg=f"selector {selector}")


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("widths", [("INTER", "INTER"), ("INTER", "SW64"), ("SW32", "INTER")])
def test_swizzles(where: str, widths: Any) -> None:
    got, want = run(where, NAMES[0], 1, False, widths)
    np.testing.assert_array_equal(got, want)


@pytest.mark.t0
def test_faults() -> None:
    for fault, match in (("no fence", "fence"), ("no wait", "wait"), ("no metadata", "OC3301")):
        with pytest.raises(OpenCuTeError, match=match):
            run("sim:sm_90a", NAMES[0], 0, False, fault=fault)
    with pytest.raises(SimulationError) as e:
        run("sim:sm_90a", NAMES[0], 0, False, change=0xF)
    assert e.value.code == "OC3027"


@pytest.mark.t0
def test_refusals() -> None:
    for name, selector in ((NAMES[0], 2), (NAMES[4], 1)):
        with pytest.raises(ArgumentError) as e:
            given, _ = arguments(name, 0, False)
            with KNOBS.override(target="sim:sm_90a"):
                host(name, selector, ("SW32", "SW64"), False)(*wrapped(name, given))
        assert e.value.code == "OC2945"
    with pytest.raises(ArgumentError, match="OC2916"):
        wgmma_atom("wgmma.sp.m64n16k16.f32.f16.f16.ss")
    with pytest.raises(LayoutError):  # rows of B that are narrower than K
        run("sim:sm_90a", NAMES[0], 0, False, ("SW32", "SW32"))

    @cute.kernel
    def body(x: cute.Tensor) -> None:
        acc = cute.make_rmem_tensor(4, cutlass.Float32)
        prims.wgmma_sp(NAMES[0], acc, x, x, 0)

    @cute.jit
    def launch(x: cute.Tensor) -> None:
        body(x).launch(grid=1, block=128)

    with KNOBS.override(target="sim:sm_90a"), pytest.raises(TypeMismatchError):
        launch(from_dlpack(np.zeros((64, 16), np.float16)))


@pytest.mark.t1
@pytest.mark.parametrize("in_registers", [False, True])
def test_ptxas_takes_them(in_registers: bool) -> None:
    for name in NAMES:
        given, _ = arguments(name, 0, in_registers)
        with KNOBS.override(target="sim:sm_90a"):
            compiled: Any = cute.compile(
                host(name, 0, ("SW32", "SW64"), in_registers), *wrapped(name, given)
            )
            assert compiled.__cubin__
            text = compiled.__ptx__
        assert text.count(f"wgmma.mma_async.sp.sync.aligned.{name} ") == STEPS
        assert ".local" not in text


@pytest.mark.t0
def test_records() -> None:
    for name in NAMES:
        r = wgmma_atom(f"wgmma.sp.{name}.ss")
        dense = wgmma_atom(f"wgmma.m64n{r.mnk[1]}k{r.mnk[2] // 2}.{'.'.join(r.types[:3])}.rs")
        assert wgmma_atom(f"wgmma.sp.{name}.rs").a == dense.a and r.c == dense.c
        assert r.sparse and r.a_k == dense.mnk[2] and not dense.sparse
