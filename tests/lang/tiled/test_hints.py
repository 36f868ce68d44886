# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Memory orders and cache hints of copies: the instructions they become, that they change no
numbers, and what no instruction says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device
from opencute import cute
from opencute.arch.hints import AccessHints
from opencute.base.errors import ArgumentError, OpenCuTeError, TypeMismatchError, VerificationError
from opencute.base.knobs import KNOBS
from opencute.cute.nvgpu import CacheEvictionPriority, LoadCacheMode, common, cpasync
from opencute.cute.runtime import from_dlpack
from opencute.lang.hopper.tma_copy import cache_policy_of
from opencute.lang.tiled.hints import policy_bits

PLACES = [
    pytest.param("sim:sm_90a", marks=pytest.mark.t0),
    pytest.param("cuda", marks=pytest.mark.t2),
]
G2R, R2G = cute.nvgpu.CopyG2ROp(), cute.nvgpu.CopyR2GOp()
FIRST, NONE = CacheEvictionPriority.EVICT_FIRST, CacheEvictionPriority.NO_ALLOCATE
ORDER, SCOPE = common.MemoryOrder, common.MemoryScope

# What is asked of a load and of a store, and what stands in the machine's text.
CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"l1c_evict_priority": NONE}, {"l1c_evict_priority": FIRST},
     ["ld.global.L1::no_allocate.v4.b32", "st.global.L1::evict_first.v4.b32"]),
    ({"invariant": True}, {}, ["ld.global.nc.v4.b32"]),
    ({"invariant": True, "l1c_evict_priority": NONE, "l2_prefetch_size": 128}, {},
     ["ld.global.nc.L1::no_allocate.L2::128B.v4.b32"]),
    ({"l2_prefetch_size": cute.nvgpu.L2PrefetchSize.SIZE_256B}, {}, ["ld.global.L2::256B.v4.b32"]),
    ({"memory_order": ORDER.VOLATILE, "memory_scope": SCOPE.SYS}, {"memory_order": ORDER.VOLATILE},
     ["ld.volatile.global.v4.b32", "st.volatile.global.v4.b32"]),
    ({"memory_order": ORDER.ACQUIRE}, {"memory_order": "release", "memory_scope": SCOPE.SYS},
     ["ld.acquire.gpu.global.v4.b32", "st.release.sys.global.v4.b32"]),
    ({"memory_order": ORDER.CONSTANT}, {"memory_order": ORDER.WEAK},
     ["ld.global.nc.v4.b32", "st.global.v4.b32"]),
]  # fmt: skip


def through(load: Any, store: Any, dtype: Any, policy: Any = None) -> Any:
    """A kernel that copies 16 elements for each thread through registers."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        reg = cute.make_rmem_tensor(16, dtype)
        get = cute.make_copy_atom(G2R, dtype, **load)
        put = cute.make_copy_atom(R2G, dtype, **store)
        cute.copy(get, src[i, None], reg, cache_policy=policy)
        cute.copy(put, reg, dst[i, None], cache_policy=policy)

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=1, block=src.shape[0])

    return host


def text_of(host: Any, *arrays: Any, arch: str = "sm_80") -> str:
    tensors = [from_dlpack(a, assumed_align=16) for a in arrays]
    with KNOBS.override(target=f"sim:{arch}"):
        compiled = cute.compile(host, *tensors)
        assert compiled.__cubin__
        return compiled.__ptx__


@pytest.mark.t1
@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_is_asked_stands_in_the_text(case: int) -> None:
    load, store, wanted = CASES[case]
    host = through(load, store, cutlass.Float16)
    src = np.arange(4 * 16, dtype=np.float16).reshape(4, 16)
    text = text_of(host, src, np.zeros_like(src))
    for each in wanted:
        assert text.count(each) == 2, text


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("dtype", [cutlass.Float32, cutlass.Float16, cutlass.Int8, cutlass.Boolean])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_numbers_do_not_change(where: str, case: int, dtype: Any) -> None:
    load, store, _ = CASES[case]
    src = np.random.default_rng(case).integers(0, 2, (4, 16)).astype(
        {cutlass.Float32: np.float32, cutlass.Float16: np.float16, cutlass.Int8: np.int8,
         cutlass.Boolean: np.bool_}[dtype]
    )  # fmt: skip
    dst = np.zeros_like(src)
    with KNOBS.override(target=where):
        through(load, store, dtype)(from_dlpack(src), from_dlpack(dst))
    np.testing.assert_array_equal(dst, src)


@pytest.mark.t1
@pytest.mark.parametrize(
    ("dtype", "array", "words"),
    [
        (cutlass.Float32, np.zeros((4, 16), np.float32), ("ld", "v4.b32")),
        (cutlass.Int8, np.zeros((4, 16), np.int8), ("ld", "v4.b32")),
        (cutlass.Float64, np.zeros((4, 16), np.float64), ("ld", "v4.b32")),
        (cutlass.Boolean, np.zeros((4, 16), np.bool_), ("ld", "v4.b32")),
    ],
)
def test_elements_of_any_type(dtype: Any, array: Any, words: Any) -> None:
    kind, width = words
    text = text_of(through({"l1c_evict_priority": NONE}, {}, dtype), array, np.zeros_like(array))
    assert f"{kind}.global.L1::no_allocate.{width}" in text
    # With less alignment the same bits come in smaller words.
    narrow = [from_dlpack(a, assumed_align=max(array.itemsize, 1)) for a in (array, array)]
    with KNOBS.override(target="sim:sm_80"):
        made = cute.compile(through({"l1c_evict_priority": NONE}, {}, dtype), *narrow)  # fmt: skip
        assert made.__cubin__ and f".L1::no_allocate.{width}" in made.__ptx__


@pytest.mark.t1
def test_policies_of_l2() -> None:
    src = np.zeros((4, 16), np.float16)
    host = through({"l1c_evict_priority": FIRST}, {}, cutlass.Float16, policy="evict_last")
    text = text_of(host, src, np.zeros_like(src))
    assert text.count("ld.global.L1::evict_first.L2::cache_hint.v4.b32") == 2
    assert text.count("st.global.L2::cache_hint.v4.b32") == 2
    assert str(0x14F0000000000000) in text


def staged(policy: Any = None, **options: Any) -> Any:
    """A kernel that copies through shared memory by cp.async."""

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor, pred: cutlass.Constexpr):
        i, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator().allocate_tensor(
            cutlass.Float16, cute.make_layout((32, 8), stride=(8, 1)), 16
        )
        op = cpasync.CopyG2SOp(cache_mode=LoadCacheMode.GLOBAL)
        atom = cute.make_copy_atom(op, cutlass.Float16, num_bits_per_copy=128, **options)
        p = None
        if cutlass.const_expr(pred):
            p = cute.make_rmem_tensor(1, cutlass.Boolean)
            p[0] = i < 20
        cute.copy(atom, src[i, None], smem[i, None], pred=p, cache_policy=policy)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.autovec_copy(smem[i, None], dst[i, None], l1c_evict_priority=NONE)

    @cute.jit
    def host(src: cute.Tensor, dst: cute.Tensor, pred: cutlass.Constexpr = False):
        kernel(src, dst, pred).launch(grid=1, block=32)

    return host


@pytest.mark.t1
def test_asynchronous_copies() -> None:
    src = np.arange(256, dtype=np.float16).reshape(32, 8)
    host = staged(policy=0x12F0000000000000, l2_prefetch_size=128)
    for pred, rest in ((False, "], 16, $"), (True, "], 16, p")):
        dst = np.zeros_like(src)
        host(*(from_dlpack(x, assumed_align=16) for x in (src, dst)), pred)
        np.testing.assert_array_equal(dst[:20], src[:20])
        np.testing.assert_array_equal(dst[20:], 0 if pred else src[20:])
        with KNOBS.override(target="sim:sm_80"):
            given = (from_dlpack(x, assumed_align=16) for x in (src, dst))
            made = cute.compile(host, *given, pred)
            text = made.__ptx__
        assert made.__cubin__ and rest[:6] in text
        assert "cp.async.cg.shared.global.L2::cache_hint.L2::128B" in text
        assert "st.global.L1::no_allocate.v4.b32" in text


@pytest.mark.t0
def test_what_no_instruction_says() -> None:
    def made(op: Any, **options: Any) -> str:
        with pytest.raises(OpenCuTeError) as e:
            cute.make_copy_atom(op, cutlass.Float16, **options)
        return e.value.code

    universal, async_ = cute.nvgpu.CopyUniversalOp(), cpasync.CopyG2SOp()
    matrix = cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4)
    for size in (96, "abc", "12b8", True, -64, 1.5, LoadCacheMode.ALWAYS):
        assert made(universal, l2_prefetch_size=size) == "OC2918"
    assert made(universal, l1c_evict_priority="evict_last_use") == "OC2918"
    assert made(universal, memory_order="seq_cst") == "OC2918"
    assert made(universal, memory_order="volatile", l1c_evict_priority=NONE) == "OC2918"
    assert made(universal, memory_order="relaxed", invariant=True) == "OC2918"
    assert made(universal, evict=NONE) == "OC1267"
    for size in ("abc", "1x2x8", "128128", True, 64.0, -64, "", [64]):
        assert made(universal, l2_prefetch_size=size) == "OC2918", size
    assert made(universal, memory_scope="bogus") == "OC2918"
    for word in ("no", "", None, 2):
        assert made(universal, invariant=word) == "OC2918", word
    assert made(async_, num_bits_per_copy=128, l1c_evict_priority=NONE) == "OC2241"
    assert made(async_, num_bits_per_copy=128, memory_order="relaxed") == "OC2241"
    assert made(matrix, invariant=True) == "OC2241"
    assert made(cpasync.CopyBulkG2SOp(), num_bits_per_copy=128, invariant=True) == "OC2241"
    sizes = ("128", "size_128b", "SIZE_128B", cute.nvgpu.L2PrefetchSize.SIZE_128B)
    for size in sizes:
        atom = cute.make_copy_atom(universal, cutlass.Float16, l2_prefetch_size=size)
        assert atom == cute.make_copy_atom(universal, cutlass.Float16, l2_prefetch_size=128)
    # Hints that say what is so without them are nobody's fault.
    same = cute.make_copy_atom(matrix, cutlass.Float16, l1c_evict_priority="evict_normal",
                               memory_order="weak", l2_prefetch_size=0)  # fmt: skip
    assert same == cute.make_copy_atom(matrix, cutlass.Float16)
    for size in (128, "128", "128b", "size_128B", cute.nvgpu.L2PrefetchSize.SIZE_128B):
        sized = cute.make_copy_atom(universal, cutlass.Float16, l2_prefetch_size=size)
        assert sized.hints == AccessHints(prefetch=128), size
    plain = cute.make_copy_atom(universal, cutlass.Float16)
    assert plain != cute.make_copy_atom(universal, cutlass.Float16, invariant=True)


@pytest.mark.t0
@pytest.mark.parametrize(
    ("load", "store", "policy", "code", "error"),
    [
        ({"memory_order": "release"}, {}, None, "OC1499", VerificationError),
        ({}, {"memory_order": "acquire"}, None, "OC1499", VerificationError),
        ({}, {}, "evict_soon", "OC2240", ArgumentError),
        ({}, {}, cutlass.Float32, "OC1248", TypeMismatchError),
        ({}, {}, 3.7, "OC1248", TypeMismatchError),
        ({}, {}, True, "OC1248", TypeMismatchError),
        ({}, {}, cutlass.Int32(5), "OC1248", TypeMismatchError),
        ({}, {}, -1, "OC2240", ArgumentError),
        ({}, {}, 1 << 64, "OC2240", ArgumentError),
    ],
)
def test_hints_on_the_wrong_side(
    load: Any, store: Any, policy: Any, code: str, error: type
) -> None:
    src = np.zeros((4, 16), np.float16)
    host = through(load, store, cutlass.Float16, policy)
    with pytest.raises(error) as e:
        host(from_dlpack(src), from_dlpack(src.copy()))
    assert e.value.code == code
    assert __file__ in str(e.value)


@pytest.mark.t0
def test_policies_of_bulk_copies() -> None:
    for known in (
        0x14F0000000000000,
        (1 << 64) - 1,
        "EVICT_LAST",
        CacheEvictionPriority.EVICT_LAST,
    ):
        assert policy_bits(known) in (0x14F0000000000000, (1 << 64) - 1)
    for policy, code in ((True, "OC1248"), (0.5, "OC1248"), (-1, "OC2240"), ("soon", "OC2240")):
        with pytest.raises(OpenCuTeError) as e:
            cache_policy_of(policy)
        assert e.value.code == code


@pytest.mark.t0
def test_text_of_hints() -> None:
    for hints in (
        AccessHints(), AccessHints("volatile"), AccessHints("acquire", "sys"),
        AccessHints(evict="evict_last", prefetch=64, invariant=True, policy=0x12F0000000000000),
        AccessHints("relaxed", "cta", evict="evict_first", policy=0),
    ):  # fmt: skip
        assert AccessHints.parse(str(hints)) == hints
    with pytest.raises(ArgumentError) as e:
        AccessHints.parse("quickly")
    assert e.value.code == "OC2918"


@pytest.mark.t0
@pytest.mark.parametrize("ordered", [False, True])
def test_a_volatile_copy_sees_what_others_write(ordered: bool) -> None:
    """A flag that another block writes: read by volatile copies there is no race."""
    data = np.full(4, -1, np.float32)
    seen = np.zeros(4, np.float32)

    @cute.jit
    def body(data: Any, seen: Any) -> None:
        block, _, _ = cute.arch.block_idx()
        options = {"memory_order": ORDER.VOLATILE, "memory_scope": SCOPE.SYS} if ordered else {}
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, **options)
        reg = cute.make_rmem_tensor(4, cutlass.Float32)
        if block == 0:
            for i in cutlass.range_constexpr(4):
                reg[i] = i + 1.0
            cute.copy(atom, reg, data)
        else:
            cute.copy(atom, data, reg)
            while reg[0] == -1.0 or reg[1] == -1.0 or reg[2] == -1.0 or reg[3] == -1.0:
                cute.copy(atom, data, reg)
            cute.autovec_copy(reg, seen)

    with KNOBS.override(sim_check=True):
        if not ordered:
            with pytest.raises(OpenCuTeError) as e:
                on_device(body, data, seen, grid=2)
            assert e.value.code.startswith("OC34")
            return
        on_device(body, data, seen, grid=2)
    np.testing.assert_array_equal(seen, [1, 2, 3, 4])
