# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every sparse MMA record, one instruction each: the simulator against NumPy, ptxas, and (t2) the
GPU against the same numbers, from the same table.

Which elements of A are kept is random, operands are small integers: metadata that is read in
another order gives wrong numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from kernels.test_mma_atoms import PLACES, pack, run, skip_unless_supported, unpack
from opencute import cute
from opencute.arch.sparse import (
    PAIRS,
    SPARSE_MMA_ATOMS,
    TF32_CODES,
    SparseMmaAtom,
    run_of,
    sparse_mma_atom,
)
from opencute.base.errors import ArgumentError, CompileError, OpenCuTeError, SimulationError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.experimental import primitives as prims

NAMES = list(SPARSE_MMA_ATOMS)


@cute.kernel
def one_mma(name: cutlass.Constexpr, selector: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor,
            gC: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor) -> None:  # fmt: skip
    lane, _, _ = cute.arch.thread_idx()
    a, b, c = (g[lane, None].load() for g in (gA, gB, gC))
    d = prims.mma_sp(name, a, b, c, gE[lane], selector)
    for i in cutlass.range_constexpr(len(d)):
        gD[lane, i] = d[i]


def host(name: str, selector: int) -> Any:
    @cute.jit
    def launch(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor, gE: cute.Tensor,
               gD: cute.Tensor) -> None:  # fmt: skip
        one_mma(name, selector, gA, gB, gC, gE, gD).launch(grid=1, block=32)

    return launch


def sparse(r: SparseMmaAtom, rng: Any) -> tuple[Any, Any, Any]:
    """A with its zeros, its kept elements, and the four bits of each run."""
    m, _, k = r.mnk
    kept_of, width = run_of(r.types[1])
    low = 0 if r.types[1].startswith("u") else -3
    kept = rng.integers(low, 4, (m, k // width, kept_of))
    codes = rng.choice(list(PAIRS if kept_of == 2 else TF32_CODES), (m, k // width))
    whole = np.zeros((m, k // width, width), kept.dtype)
    for i in range(kept_of):
        at = codes >> 2 * i & 3 if kept_of == 2 else np.vectorize(TF32_CODES.get)(codes)
        np.put_along_axis(whole, at[..., None], kept[..., i : i + 1], axis=2)
    return whole.reshape(m, k), kept.reshape(m, -1), codes


def metadata(r: SparseMmaAtom, codes: Any, selector: int) -> Any:
    """The word of each thread; those that are not asked have nonsense."""
    m, width = r.mnk[0], run_of(r.types[1])[1]
    words = np.full(32, 0xFFFFFFFF, np.uint64)
    for t in r.contributors(selector):
        places = [r.e(t, run * width) for run in range(8)]
        fields = [int(codes[p % m, p // m // width]) for p in places]
        words[t] = sum(f << 4 * i for i, f in enumerate(fields))
    return words.astype(np.uint32).view(np.int32)


def arguments(name: str, selector: int = 0) -> tuple[list[Any], Any]:
    """Registers of A, B, C and the metadata, and the product."""
    r = sparse_mma_atom(name)
    rng = np.random.default_rng(len(name) + selector)
    m, n, k = r.mnk
    whole, kept, codes = sparse(r, rng)
    low = 0 if r.types[2].startswith("u") else -3
    b, c = rng.integers(low, 4, (n, k)), rng.integers(-5, 5, (m, n))
    registers = [
        pack(x, layout, t)
        for x, layout, t in zip((kept, b, c), (r.a, r.b, r.c), r.types[1:], strict=True)
    ]
    return [*registers, metadata(r, codes, selector)], whole @ b.T + c


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_products(where: str, name: str) -> None:
    r = sparse_mma_atom(name)
    if where == "cuda":
        skip_unless_supported(r.since)
    for selector in range(r.selectors):
        given, want = arguments(name, selector)
        out = np.zeros_like(given[2])
        place = "sim:sm_120a" if r.since > 90 else "sim:sm_90a"
        run(where if where == "cuda" else place, host(name, selector), *given, out)
        got = unpack(out, r.c, r.types[0], r.mnk[:2])
        np.testing.assert_array_equal(got, want, err_msg=f"selector {selector}")


@pytest.mark.t0
@pytest.mark.parametrize("word", [0x44444445, 0x44444441, 0x4444444F])
def test_metadata_that_says_nothing(word: int) -> None:
    name = "sp.m16n8k16.f32.f16.f16.f32"
    given, _ = arguments(name)
    given[3] = np.full(32, word, np.uint32).view(np.int32)
    with pytest.raises(SimulationError) as e:
        run("sim:sm_90a", host(name, 0), *given, np.zeros_like(given[2]))
    assert e.value.code == "OC3027"


@cute.kernel
def written_by_some(
    name: cutlass.Constexpr, threads: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor,
    gC: cute.Tensor, gE: cute.Tensor, gD: cute.Tensor,
) -> None:  # fmt: skip
    """Metadata goes through shared memory, where only some threads write theirs."""
    lane, _, _ = cute.arch.thread_idx()
    words = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    if lane % 4 < threads:
        words[lane] = gE[lane]
    cute.arch.sync_warp()
    a, b, c = (g[lane, None].load() for g in (gA, gB, gC))
    d = prims.mma_sp(name, a, b, c, words[lane], 0)
    for i in cutlass.range_constexpr(len(d)):
        gD[lane, i] = d[i]


@pytest.mark.t0
def test_metadata_that_nobody_wrote() -> None:
    name = "sp.m16n8k16.f32.f16.f16.f32"
    r = sparse_mma_atom(name)
    given, want = arguments(name)

    def launch(threads: int) -> Any:
        @cute.jit
        def with_some(gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor, gE: cute.Tensor,
                      gD: cute.Tensor) -> None:  # fmt: skip
            written_by_some(name, threads, gA, gB, gC, gE, gD).launch(grid=1, block=32)

        out = np.zeros_like(given[2])
        run("sim:sm_90a", with_some, *given, out)
        return unpack(out, r.c, r.types[0], r.mnk[:2])

    each = 4 // r.selectors
    np.testing.assert_array_equal(launch(each), want)  # the others' does not count
    with pytest.raises(OpenCuTeError, match="metadata of a sparse product") as e:
        launch(each - 1)
    assert e.value.code == "OC3301" and __file__ in str(e.value)


@pytest.mark.t0
def test_instructions_that_do_not_exist() -> None:
    given, _ = arguments(NAMES[0])
    out = np.zeros_like(given[2])
    for name, selector, code in (
        ("sp.m16n8k64.f32.f16.f16.f32", 0, "OC2916"), (NAMES[0], 4, "OC2945"),
        (NAMES[3], 0, "OC2945"),  # other registers
    ):  # fmt: skip
        with pytest.raises(ArgumentError) as e:
            run("sim:sm_90a", host(name, selector), *given, out)
        assert e.value.code == code


@pytest.mark.t1
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_ptxas_takes_them(arch: str) -> None:
    for name in NAMES[:: 1 if arch == "sm_90a" else 7]:
        r = sparse_mma_atom(name)
        given, _ = arguments(name)
        wrapped = [from_dlpack(x) for x in (*given, np.zeros_like(given[2]))]
        with KNOBS.override(target=f"sim:{arch}"):
            if r.since > int(arch[3:].rstrip("a")):
                with pytest.raises(CompileError, match="OC1066"):
                    cute.compile(host(name, 0), *wrapped)
                continue
            compiled: Any = cute.compile(host(name, r.selectors - 1), *wrapped)
            assert compiled.__cubin__ and r.instruction in compiled.__ptx__
