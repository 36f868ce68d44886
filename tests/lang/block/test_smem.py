# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Places in shared memory, what a launch asks for, and the limits."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import ArgumentError, LanguageError, LayoutError, SimulationError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


@cute.kernel
def kernel(body: cutlass.Constexpr, n: cutlass.Int32):
    body(utils.SmemAllocator(), n)


@cute.jit
def host(
    body: cutlass.Constexpr, n: cutlass.Int32, smem: cutlass.Constexpr, merge: cutlass.Constexpr
):
    kernel(body, n).launch(grid=1, block=32, smem=smem, smem_merge_branch_allocs=merge)


def used(body: Any, smem: Any = None, merge: bool = False, target: str = "sim:sm_90a") -> int:
    """Bytes that the launch asks for."""
    with KNOBS.override(target=target):
        text = cute.compile(host, body, 1, smem, merge).__mlir__
    found = re.search(r"cute\.smem_bytes = (\d+)", text)
    return int(found[1]) if found else 0


def test_allocations_follow_each_other_at_their_alignments():
    seen: list[str] = []

    def body(smem: Any, n: Any) -> None:
        seen.extend(
            map(
                str,
                [
                    smem.allocate(cutlass.Int32),
                    smem.allocate(64, byte_alignment=128),
                    smem.allocate_array(cutlass.Int64, 14),
                    smem.allocate_tensor(cutlass.Float16, cute.make_layout((16, 2)), 32),
                    utils.SmemAllocator().allocate(cutlass.Int8),
                    cute.arch.alloc_smem(cutlass.Float32, 3, 16),
                ],
            )
        )

    assert used(body) == 412
    assert seen == [
        "ptr<i32, smem, align<1024>>",
        "ptr<i8, smem, align<128>>",
        "ptr<i64, smem, align<64>>",
        "tensor<ptr<f16, smem, align<64>> o (16,2):(1,16)>",
        "ptr<i8, smem, align<128>>",
        "ptr<f32, smem, align<16>>",
    ]


def test_what_swizzles_permute_has_room_and_alignment():
    def pointer(smem: Any, n: Any) -> None:
        smem.allocate(4)
        t = smem.allocate_tensor(
            cutlass.Float16,
            cute.make_layout((8, 60), stride=(64, 1)),
            16,
            cute.make_swizzle(3, 4, 3),
        )
        assert t.iterator.alignment == 1024

    def layout(smem: Any, n: Any) -> None:
        smem.allocate(4)
        outer = cute.make_layout((8, 60), stride=(64, 1))
        swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, outer)
        assert smem.allocate_tensor(cutlass.Float16, swizzled).iterator.alignment == 1024

    assert used(pointer) == used(layout) == 2048


@cute.jit
def two_branches(smem: Any, n: Any) -> None:
    if n == 1:
        smem.allocate(256)
    else:
        smem.allocate(512)
    smem.allocate(128)


def test_branches_share_memory_where_asked():
    assert used(two_branches) == 256 + 512 + 128
    assert used(two_branches, merge=True) == 512 + 128


@cute.jit
def in_a_loop(smem: Any, n: Any) -> None:
    x = 0
    for _ in range(n):
        smem.allocate(256)
        x = x + 1.5
    while x > 0:
        smem.allocate(64)
        x = x - 1.0


def test_a_loop_that_is_traced_twice_allocates_once():
    assert used(in_a_loop) == 256 + 64


def test_outside_of_kernels_there_is_no_shared_memory():
    @cute.jit
    def wrong():
        utils.SmemAllocator().allocate(4)

    with KNOBS.override(target="sim:sm_90a"), pytest.raises(LanguageError) as caught:
        cute.compile(wrong)
    assert caught.value.code == "OC1137"


@pytest.mark.parametrize(
    ("target", "limit"), [("sm_80", 163), ("sm_86", 99), ("sm_90a", 227), ("sm_120a", 99)]
)
def test_the_limit_of_each_processor(target: str, limit: int):
    most = limit * 1024
    assert utils.get_smem_capacity_in_bytes(target) == most
    assert used(lambda smem, n: smem.allocate(most) and None, target=f"sim:{target}") == most
    with pytest.raises(ArgumentError, match="more shared memory than a block may have") as caught:
        used(lambda smem, n: smem.allocate(most + 1) and None, target=f"sim:{target}")
    assert caught.value.code == "OC2129"
    assert f"at most {most} bytes" in str(caught.value) and f"{most + 1} bytes" in str(caught.value)
    with pytest.raises(ArgumentError, match="asks for more shared memory") as caught:
        used(lambda smem, n: None, most + 1, target=f"sim:{target}")
    assert caught.value.code == "OC2129"


BROKEN: dict[str, tuple[Any, Any, str]] = {
    "no power of two": (lambda s: s.allocate(8, 64), lambda s: s.allocate(8, 48), "OC2129"),
    "too much alignment": (lambda s: s.allocate(8, 1024), lambda s: s.allocate(8, 2048), "OC2129"),
    "negative size": (lambda s: s.allocate(0), lambda s: s.allocate(-1), "OC2129"),
    "no type": (lambda s: s.allocate(cutlass.Int8), lambda s: s.allocate("x"), "OC1285"),
    "swizzled twice": (
        lambda s: s.allocate_tensor(cutlass.Float32, 64),
        lambda s: s.allocate_tensor(
            cutlass.Float32,
            cute.make_composed_layout(cute.make_swizzle(1, 2, 2), 0, cute.make_layout(64)),
            swizzle=cute.make_swizzle(1, 4, 3),
        ),
        "OC1369",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_broken_one_beside_the_right_one(name: str):
    right, broken, code = BROKEN[name]
    used(lambda smem, n: right(smem) is None or None)
    with pytest.raises((ArgumentError, LayoutError, Exception)) as caught:
        used(lambda smem, n: broken(smem) is None or None)
    assert getattr(caught.value, "code", None) == code


def test_a_layout_that_is_only_known_at_run_time_is_refused():
    with pytest.raises(LayoutError, match="static layout"):
        used(lambda smem, n: smem.allocate_tensor(cutlass.Float32, (8, n)) is None or None)


# ---------------------------------------------------------------- launches
@cute.kernel
def size_kernel(out: cute.Tensor):
    utils.SmemAllocator().allocate(640)
    out[0] = cute.arch.dynamic_smem_size()


@cute.jit
def static_size(out: cute.Tensor, smem: cutlass.Constexpr):
    size_kernel(out).launch(grid=1, block=1, smem=smem)


@cute.jit
def dynamic_size(out: cute.Tensor, smem: cutlass.Int64):
    size_kernel(out).launch(grid=1, block=1, smem=smem)


def _size(fn: Any, smem: Any) -> int:
    out = np.zeros(1, np.int32)
    with KNOBS.override(target="sim:sm_90a"):
        fn(from_dlpack(out), smem)
    return int(out[0])


def test_a_launch_asks_for_what_allocators_use_or_more():
    assert _size(static_size, None) == 640
    assert _size(static_size, 4096) == _size(dynamic_size, 4096) == 4096
    assert _size(dynamic_size, 16) == 640


def test_too_little_is_a_warning():
    with pytest.warns(RuntimeWarning, match="smem=16, but its allocators use 640 bytes") as seen:
        assert _size(static_size, 16) == 640
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _size(static_size, 641) == 641


def test_too_much_at_run_time_is_an_error_before_the_launch():
    with pytest.raises(SimulationError, match="shared memory"):
        _size(dynamic_size, 1 << 33)


@cute.kernel
def printing_kernel():
    smem = cute.arch.alloc_smem(cutlass.Float32, 4)
    cute.printf("%f", smem.load())


@cute.jit
def printing():
    printing_kernel().launch(grid=1, block=1)


def test_printing_what_nothing_wrote_is_a_warning():
    note = pytest.warns(RuntimeWarning, match="uninitialised data reaches a print")
    with KNOBS.override(target="sim:sm_90a"), note as seen:
        printing()
    assert seen[0].filename == __file__


@cute.kernel
def storing_kernel(out: cute.Tensor):
    out[0] = cute.arch.alloc_smem(cutlass.Int32, 4).load()


@cute.jit
def storing(out: cute.Tensor):
    storing_kernel(out).launch(grid=1, block=1)


def test_storing_what_nothing_wrote_is_an_error():
    with KNOBS.override(target="sim:sm_90a"), pytest.raises(SimulationError, match="uninitialised"):
        storing(from_dlpack(np.zeros(1, np.int32)))
