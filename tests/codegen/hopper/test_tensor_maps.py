# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions make tensor maps: what the driver is asked for, and what is refused before."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from opencute.arch.target import target
from opencute.arch.tma import Tile
from opencute.codegen.device import compile_device
from opencute.codegen.hopper.tensor_maps import BAD_TENSOR_MAP, map_fault
from opencute.codegen.host import compile_host_text
from opencute.dialects import arith, builtin, cute, func, gpu
from opencute.dialects.hopper import tensor_maps
from opencute.integrations.driver_stub import EncodedMap, StubDriver
from opencute.ir.builder import insert_at
from opencute.ir.core import Op
from opencute.ir.types import F16, I32, I64
from opencute.native.jit import compile_host
from opencute.passes.pipelines import run_device_passes, run_host_passes
from opencute.runtime import driver

pytestmark = pytest.mark.t1
PTR = cute.PtrType(F16, "gmem", 2)
TILES = {
    "tiled": Tile("f16", (64, 8), swizzle="128b"),
    "im2col": Tile("f16", (), lower=(-1, 0), upper=(1, 2), channels=64, pixels=16),
}


def module_with(tile: Tile) -> Op:
    """A kernel that takes a map and fetches it, and a host function that makes the map."""
    module, body = builtin.module()
    with insert_at(body):
        _, kernels = gpu.gpu_module()
        with insert_at(kernels):
            _, block = gpu.gpu_func("k", [tensor_maps.TmaDescType(), I32])
            with insert_at(block):
                tensor_maps.prefetch_tensormap(tensor_maps.descriptor_address(block.args[0]))
                gpu.return_()
        _, block = func.func("host", [PTR, *[I64] * (2 * tile.rank - 1)])
        with insert_at(block):
            p, *n = block.args
            made = tensor_maps.descriptor(p, n[: tile.rank], n[tile.rank :], tile)
            one, threads = arith.constant(1, I32), arith.constant(32, I32)
            gpu.launch_func("k", [one, one, one], [threads, one, one], [made, one])
            func.return_()
    return module


def call(tile: Tile, *arguments: int, map_status: int = 0) -> tuple[int, StubDriver, Any]:
    module = module_with(tile)
    run_host_passes(module, target("sm_90a"))
    code = compile_host_text(module)
    with StubDriver(map_status=map_status) as stub:
        symbols = {
            name: driver.function_address(name)
            for name in ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col")
        }
        taken: list[bytes] = []

        def launch(config: int, function: int, params: int, extra: int | None) -> int:
            places = (ctypes.c_void_p * 2).from_address(params)
            assert (places[0] or 0) % 64 == 0
            taken.append(ctypes.string_at(places[0] or 0, 128))
            return 0

        keep = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(launch)
        symbols["cuLaunchKernelEx"] = ctypes.cast(keep, ctypes.c_void_p).value or 0
        with compile_host(code.llvm_ir, symbols) as native:
            functions = (ctypes.c_uint64 * 1)(100)
            slots = (ctypes.c_uint64 * code.slots)(0, ctypes.addressof(functions), *arguments)
            entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(native.address(code.name))
            status = int(entry(ctypes.addressof(slots)))
    assert len(taken) == (status == 0)
    return status, stub, code.maps


def test_the_driver_is_asked_for_a_tiled_map() -> None:
    status, stub, _ = call(TILES["tiled"], 4096, 100, 50, 256)
    assert status == 0
    assert stub.maps == [EncodedMap(6, 4096, (100, 50), (256,), (64, 8), (1, 1), (0, 3, 2, 0))]


def test_the_driver_is_asked_for_an_im2col_map() -> None:
    status, stub, _ = call(TILES["im2col"], 4096, 64, 9, 8, 7, 128, 1152, 9216)
    assert status == 0
    box = (-1, 0, 1, 2, 64, 16)
    assert stub.maps == [
        EncodedMap(6, 4096, (64, 9, 8, 7), (128, 1152, 9216), box, (1, 1, 1, 1), (0, 0, 2, 0))
    ]


@pytest.mark.parametrize(
    ("arguments", "text", "hint"),
    [
        ((4098, 100, 50, 256), "address is no multiple of 16 bytes", "begin at a multiple of 8 el"),
        ((4096, 0, 50, 256), "extent of dimension 0", "empty"),
        ((4096, 100, (1 << 32) + 1, 256), "extent of dimension 1", "cut"),
        ((4096, 100, 50, 200), "stride of dimension 1", "rows of a multiple of 8 elements"),
        ((4096, 100, 50, 1 << 40), "stride of dimension 1", "rows of"),
    ],
)
def test_tensors_are_refused_before_the_driver_sees_them(
    arguments: Any, text: str, hint: str
) -> None:
    status, stub, maps = call(TILES["tiled"], *arguments)
    assert status & BAD_TENSOR_MAP and stub.maps == []
    found, _, remedy = map_fault(status, maps)
    assert text in found and hint in remedy


def test_what_the_driver_refuses() -> None:
    status, stub, maps = call(TILES["tiled"], 4096, 100, 50, 256, map_status=1)
    assert len(stub.maps) == 1 and "the driver refuses" in map_fault(status, maps)[0]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_120a"])
def test_a_kernel_takes_a_map_in_constant_memory(arch: str) -> None:
    sm = target(arch)
    code = compile_device(module_with(TILES["tiled"]), sm, lower=lambda m: run_device_passes(m, sm))
    assert "prefetch.tensormap" in code.ptx and ".param .align 64 .b8" in code.ptx
    assert "st.local" not in code.ptx and code.cubin
