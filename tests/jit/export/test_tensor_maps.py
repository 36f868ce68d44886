# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Exported functions whose kernels use TMA: the maps that a C program makes, with a stand-in for
the driver; loaded again; clusters that not every device has."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.knobs import KNOBS
from opencute.codegen.toolchain import find_ptxas
from opencute.cute.nvgpu import cpasync
from opencute.cute.runtime import load_module, make_fake_compact_tensor, make_fake_stream

pytestmark = pytest.mark.t1

try:
    find_ptxas()
except Exception:  # the machine has no assembler
    pytest.skip("exporting needs ptxas", allow_module_level=True)

TILE = (16, 32)


@cute.kernel
def add_one(load: cute.CopyAtom, src: cute.Tensor, store: cute.CopyAtom, dst: cute.Tensor,
            layout: cutlass.Constexpr):  # fmt: skip
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float32, layout, 128)
    bar = smem.allocate_array(cutlass.Int64, 1)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    one, whole = cute.make_layout(1), cute.group_modes(tile, 0, 2)
    s, g = cpasync.tma_partition(
        load, 0, one, whole, cute.group_modes(cute.local_tile(src, TILE, (bx, by)), 0, 2)
    )
    t, d = cpasync.tma_partition(
        store, 0, one, whole, cute.group_modes(cute.local_tile(dst, TILE, (bx, by)), 0, 2)
    )
    if cute.arch.warp_idx() == 0:
        if tid == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 16 * 32 * 4)
        cute.copy(load, g, s, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    for i in cutlass.range_constexpr(4):
        at = tid // 32 + 4 * i, tid % 32
        tile[at] = tile[at] + 1.0
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if cute.arch.warp_idx() == 0:
        cute.copy(store, t, d)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def moved(a: cute.Tensor, b: cute.Tensor, stream, blocks: cutlass.Constexpr[int] = 1):
    layout = cute.make_layout(TILE, stride=(32, 1))
    load, src = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, layout, TILE
    )  # fmt: skip
    store, dst = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), b, layout, TILE
    )  # fmt: skip
    grid = (cute.ceil_div(a.shape[0], 16), cute.ceil_div(a.shape[1], 32), 1)
    add_one(load, src, store, dst, layout).launch(
        grid=grid, block=128, stream=stream, cluster=(blocks, 1, 1) if blocks > 1 else None
    )


def compiled(blocks: int = 1, **options: Any) -> Any:
    m, n = cute.sym_int(), cute.sym_int(divisibility=4)
    fake = make_fake_compact_tensor(cute.Float32, (m, n), stride_order=(1, 0), assumed_align=16)
    return cute.compile(moved, fake, fake, make_fake_stream(), blocks, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    with KNOBS.override(target="sim:sm_90a"):
        compiled().export_to_c(file_path=str(out), file_name="moved", function_prefix="moved")
        compiled(16).export_to_c(out / "wide.o", function_name="wide")
        compiled(options="--enable-tvm-ffi").export_to_c(out / "ffi.o", function_name="ffi")
    return out


def test_a_loaded_function_makes_its_maps(folder: Path) -> None:
    a = np.arange(40 * 64, dtype=np.float32).reshape(40, 64)
    b = np.zeros_like(a)
    with KNOBS.override(target="sim:sm_90a"):
        load_module(folder / "moved.o").moved(a, b, 0)
    np.testing.assert_array_equal(b, a + 1)


STUB = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { unsigned grid[3], block[3], smem; void *stream; void *attrs; unsigned n; } Config;
static int context, refuses;
int cuInit(unsigned f) { return 0; }
int cuCtxGetCurrent(void **c) { *c = &context; return 0; }
int cuDeviceGet(int *d, int i) { return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuModuleLoadData(void **m, const void *image) { *m = &context; return 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)name; return 0; }
int cuFuncSetAttribute(void *f, int what, int n) { printf("set %d %d\n", what, n); return 0; }
int cuModuleUnload(void *m) { return 0; }
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int l2, int oob) {
  printf("map type %d rank %u at %p dims %d %d stride %d box %u %u steps %u %u aligned %d\n", type,
         rank, address, (int)dims[0], (int)dims[1], (int)strides[0], box[0], box[1], steps[0],
         steps[1], (int)((uintptr_t)map % 64));
  memset(map, 0, 128);
  memcpy(map, &address, sizeof address);
  return refuses; }
int cuLaunchKernelEx(const Config *c, void *f, void **p, void **extra) {
  printf("launch grid %u %u maps of %p %p\n", c->grid[0], c->grid[1], *(void **)p[%(first)d],
         *(void **)p[%(second)d]);
  return 0; }
"""

MAIN = r"""
#include "moved.h"
#include "stub.c"
int main(void) {
  moved_Kernel_Module_t module;
  if (moved_Kernel_Module_Load(&module)) return 1;
  moved_Tensor_a_t a = {(void *)0x1000, {100, 64}, {64}};
  moved_Tensor_b_t b = {(void *)0x2000, {100, 64}, {64}};
  printf("%x\n", cute_dsl_moved_wrapper(&module, &a, &b, 0));
  a.data = (void *)0x1004;
  printf("%x\n", cute_dsl_moved_wrapper(&module, &a, &b, 0));
  a.data = (void *)0x1000; b.dynamic_strides[0] = 63;
  printf("%x\n", cute_dsl_moved_wrapper(&module, &a, &b, 0));
  b.dynamic_strides[0] = 64; b.dynamic_shapes[1] = 0;
  printf("%x\n", cute_dsl_moved_wrapper(&module, &a, &b, 0));
  b.dynamic_shapes[1] = 64; refuses = 1;
  printf("%x\n", cute_dsl_moved_wrapper(&module, &a, &b, 0));
  return moved_Kernel_Module_Unload(&module); }
"""


def stub() -> str:
    return STUB.replace("%(first)d", "0").replace("%(second)d", str(second_map()))


def second_map() -> int:
    """Which parameter of the kernel the second map is."""
    with KNOBS.override(target="sim:sm_90a"):
        text = compiled().__ptx__
    entry = text[text.index(".entry ") :]
    params = entry[: entry.index(")")].split(".param")[1:]
    return [i for i, p in enumerate(params) if "[128]" in p][1]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_c_program_makes_the_maps(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "stub.c").write_text(stub())
    (tmp_path / "main.c").write_text(MAIN)
    command = ["gcc", "-Wall", "-Werror", f"-I{folder}", "-o", "main", "main.c"]
    subprocess.run([*command, str(folder / "moved.o")], check=True, cwd=tmp_path)
    out = subprocess.run(["./main"], check=True, cwd=tmp_path, capture_output=True, text=True)
    line = "map type 7 rank 2 at {} dims 64 100 stride 256 box 32 16 steps 1 1 aligned 0"
    a, b = line.format("0x1000"), line.format("0x2000")
    first, *lines = out.stdout.splitlines()
    assert first.startswith("set 8 ")  # dynamic shared memory
    assert lines == [
        a, b, "launch grid 7 2 maps of 0x1000 0x2000", "0",
        "20000000",  # the first map: its address
        a, "20000109",  # the second: its stride 1
        a, "20000101",  # its extent 0
        a, "200000ff",  # the driver refuses
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_clusters_that_not_every_device_has(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "stub.c").write_text(stub())
    library = tmp_path / "libwide.so"
    objects = [str(tmp_path / "stub.c"), str(folder / "wide.o")]
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", str(library), *objects], check=True
    )
    program = f"""
import ctypes
lib = ctypes.CDLL({str(library)!r})
module = (ctypes.c_void_p * 2)()
print(lib.wide_Kernel_Module_Load(module), flush=True)
"""
    out = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    lines = out.stdout.split()
    assert sorted(lines) == sorted(["0", "set", "14", "1", "set", "8", lines[2]])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_tvm_ffi_says_what_tma_cannot_move(folder: Path, tmp_path: Path) -> None:
    from jit.export import test_tvm_ffi as ffi

    text = ffi.STUB.replace(
        "int cuLaunchKernelEx", "int cuTensorMapEncodeTiled() { return 0; }\nint cuLaunchKernelEx"
    )
    (tmp_path / "stub.c").write_text(text)
    library = tmp_path / "libffi.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wno-implicit", "-o", str(library), str(tmp_path / "stub.c"),
         str(folder / "ffi.o")], check=True,
    )  # fmt: skip
    assert ctypes.CDLL(str(library)).__tvm_ffi_ffi
    assert b"TMA cannot move a tensor" in library.read_bytes()
