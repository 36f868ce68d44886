# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Exported functions: loaded again, linked into C, cross-compiled, and what is refused."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError
from opencute.codegen.toolchain import find_ptxas
from opencute.cute.runtime import (
    find_runtime_libraries,
    from_dlpack,
    load_module,
    make_fake_compact_tensor,
    make_fake_stream,
)

pytestmark = pytest.mark.t1

try:
    find_ptxas()
except Exception:  # the machine has no assembler
    pytest.skip("exporting needs ptxas", allow_module_level=True)


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(a):
        b[i] = a[i] + c


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32, stream):
    add_kernel(a, b, c).launch(grid=cute.ceil_div(cute.size(a), 32), block=32, stream=stream)
    return cute.size(a), cutlass.Uint8(cute.size(a) + 200)


@cute.jit
def twice(pair: tuple, n: cutlass.Constexpr[int]):
    for _ in cutlass.range_constexpr(n):
        add_kernel(pair[0], pair[0], pair[1]).launch(grid=1, block=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENCUTE_TARGET", "sim")
        out = tmp_path_factory.mktemp("exported")
        n = cute.sym_int(divisibility=4)
        fake = make_fake_compact_tensor(cute.Float32, (n,), assumed_align=16)
        compiled = cute.compile(add, fake, fake, 1.0, make_fake_stream())
        compiled.export_to_c(file_path=str(out), file_name="adding", function_prefix="add")
        marked = from_dlpack(np.zeros(8, np.float32)).mark_layout_dynamic()
        cute.compile(twice, (marked, cutlass.Float32(0)), 2).export_to_c(
            out / "twice.o", function_name="twice"
        )
    return out


def arrays(n: int) -> tuple[np.ndarray, np.ndarray]:
    raw = np.zeros(2 * n + 32, np.float32)
    start = -raw.ctypes.data // 4 % 16
    a, b = raw[start : start + n], raw[start + n + -n % 4 :][:n]
    a[:] = np.arange(n)
    return a, b


def test_an_object_file_is_loaded_without_tracing(folder: Path) -> None:
    before = COUNTERS.compilations
    module = load_module(folder / "adding.o")
    a, b = arrays(64)
    assert module.add(a, b, 2.5, 0) == (64, (64 + 200) % 256)
    np.testing.assert_array_equal(b, a + 2.5)
    assert module.add(a[:8], b[:8], c=1, stream=None) == (8, 208)
    twice = load_module(str(folder / "twice.o"), enable_tvm_ffi=True).twice
    twice((b, 10.0))
    np.testing.assert_array_equal(b[8:16], a[8:16] + 2.5 + 20)
    assert COUNTERS.compilations == before
    assert "add" in dir(module) and "adding.o" in repr(module)


def test_loaded_functions_check_their_arguments(folder: Path) -> None:
    add = load_module(folder / "adding.o").add
    a, b = arrays(64)
    for args, code in (
        ((a, b[:32], 1.0, 0), "OC2133"),
        ((a[:6], b[:6], 1.0, 0), "OC2138"),
        ((a[1:5], b[:4], 1.0, 0), "OC2135"),
        ((a.astype(np.int32), b, 1.0, 0), "OC2131"),
        ((a, b, 1.0), "OC2130"),
    ):
        with pytest.raises(ArgumentError) as e:
            add(*args)
        assert e.value.code == code
    with pytest.raises(AttributeError, match="did you mean add"):
        getattr(load_module(folder / "adding.o"), "ad")  # noqa: B009 - a name that is not there


def test_files_that_are_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.o").write_bytes(b"nothing")
    data = (folder / "adding.o").read_bytes()
    at = data.index(b"OpenCuTe\0AOT")
    (tmp_path / "damaged.o").write_bytes(data[: at + 200] + b"?" + data[at + 201 :])
    for name in ("missing.o", "empty.o", "damaged.o"):
        with pytest.raises(ArgumentError, match="OC2148"):
            load_module(tmp_path / name)


MAIN = r"""
#include <stdio.h>
#include "adding.h"
typedef struct { unsigned grid[3], block[3], smem; void *stream; void *attrs; unsigned n; } Config;
static int modules = 0, contexts = 0;
static void *context = 0;
int cuInit(unsigned f) { return 0; }
int cuCtxGetCurrent(void **c) { *c = context; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &context; contexts++; return 0; }
int cuCtxSetCurrent(void *c) { context = c; return 0; }
int cuModuleLoadData(void **m, const void *image) {
  const unsigned char *p = image;
  printf("image %d %c%c%c aligned %d\n", p[0], p[1], p[2], p[3], (int)((uintptr_t)p % 64));
  *m = &modules; modules++; return 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) {
  printf("%s %d\n", name, m == &modules); *f = (void *)name; return 0; }
int cuFuncSetAttribute(void *f, int what, int n) { printf("set %d %d\n", what, n); return 0; }
int cuModuleUnload(void *m) { modules--; return 0; }
int cuLaunchKernelEx(const Config *c, void *f, void **params, void **extra) {
  printf("launch %s grid %u block %u stream %p a %p n %d b %p c %g\n", (char *)f, c->grid[0],
         c->block[0], c->stream, *(void **)params[0], *(int *)params[1], *(void **)params[2],
         *(float *)params[4]);
  return 0; }
int main(void) {
  add_Kernel_Module_t module;
  if (add_Kernel_Module_Load(&module)) return 1;
  add_Tensor_a_t a = {(void *)0x1000, {100}};
  add_Tensor_b_t b = {(void *)0x2000, {100}};
  int32_t n; uint8_t byte;
  if (cute_dsl_add_wrapper(&module, &a, &b, 2.5f, (void *)0x77, &n, &byte)) return 2;
  printf("result %d %d\n", n, byte);
  add_Kernel_Module_Unload(&module);
  printf("modules %d contexts %d\n", modules, contexts);
  return 0; }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_c_program_links_and_calls_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(MAIN)
    command = ["gcc", "-Wall", "-Werror", f"-I{folder}", "-o", "main", "main.c"]
    subprocess.run([*command, str(folder / "adding.o")], check=True, cwd=tmp_path)
    out = subprocess.run(["./main"], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert out.stdout.splitlines() == [
        "image 127 ELF aligned 0",
        "add_kernel_0 1",
        "set 8 0",
        "launch add_kernel_0 grid 4 block 32 stream 0x77 a 0x1000 n 100 b 0x2000 c 2.5",
        "result 100 44",
        "modules 0 contexts 1",
    ]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_a_shared_library_of_several_functions(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "libboth.so"
    objects = [str(folder / "adding.o"), str(folder / "twice.o")]
    libraries = find_runtime_libraries(enable_tvm_ffi=True)
    subprocess.run(["gcc", "-shared", "-o", str(library), *objects, *libraries], check=True)
    module = load_module(library)
    a, b = arrays(16)
    module.add(a, b, 1.0, 0)
    module.twice([b, 1.0])
    np.testing.assert_array_equal(b, a + 3)
    assert find_runtime_libraries() == []


def test_other_processors(folder: Path) -> None:
    fake = make_fake_compact_tensor(cute.Float32, (8,))
    option = "--host-target linux-aarch64"
    compiled = cute.compile(add, fake, fake, 1.0, make_fake_stream(), options=option)
    compiled.export_to_c(folder / "arm.o", function_name="add")
    data = (folder / "arm.o").read_bytes()
    assert data[:4] == b"\x7fELF" and struct.unpack_from("<H", data, 18) == (183,)
    for bad in ("sparc", "'llvm -mtriple=sparc-linux'", "'llvm -mcpu'"):
        with pytest.raises(ArgumentError, match="OC2149"):
            cute.compile(add, fake, fake, 1.0, None, options=f"--host-target {bad}")
    with pytest.raises(ArgumentError, match="cannot be combined"):
        cute.compile(add, fake, fake, 1.0, None, options=f"{option} --enable-tvm-ffi")
    long = "--host-target 'llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1 -mattr=+lse'"
    cute.compile(add, fake, fake, 1.0, make_fake_stream(), options=long)


class Custom:
    def __get_mlir_types__(self) -> list[Any]:
        return []

    def __c_pointers__(self) -> list[Any]:
        return []

    def __new_from_mlir_values__(self, values: Any) -> Custom:
        return self


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    @cute.jit
    def takes(x, n: cutlass.Int32):
        return n

    for bad in (Custom(), {"a": cutlass.Int32(1)}):
        with pytest.raises(ArgumentError, match="argument 'x' cannot be exported"):
            cute.compile(takes, bad, 1).export_to_c(tmp_path, "x")
    mixed = make_fake_compact_tensor(cute.Float32, (cute.sym_int32(), cute.sym_int64()))
    with pytest.raises(ArgumentError, match="different widths"):
        cute.compile(takes, mixed, 1).export_to_c(tmp_path, "x")
    with pytest.raises(ArgumentError, match="no name in C"):
        cute.compile(takes, None, 1).export_to_c(tmp_path, "x", "a-b")
    cute.compile(takes, None, 1).export_to_c(tmp_path, "x", "none")
    assert load_module(tmp_path / "x.o").none(n=7) == 7
