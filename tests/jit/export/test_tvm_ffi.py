# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""TVM-FFI's entry of exported functions, with stand-ins for the driver and for TVM-FFI."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.codegen.toolchain import find_ptxas
from opencute.cute.runtime import make_fake_compact_tensor, make_fake_stream, make_fake_tensor

pytestmark = pytest.mark.t1

try:
    find_ptxas()
except Exception:  # the machine has no assembler
    pytest.skip("exporting needs ptxas", allow_module_level=True)
if shutil.which("gcc") is None:
    pytest.skip("needs a C compiler", allow_module_level=True)

STUB = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { unsigned grid[3], block[3], smem; void *stream; void *attrs; unsigned n; } Config;
char kind[64], message[1024], log_[1024];
int loads = 0, fail = 0, device = -1;
void TVMFFIErrorSetRaisedFromCStr(const char *k, const char *m) {
  strncpy(kind, k, 63); strncpy(message, m, 1023); }
void *TVMFFIEnvGetStream(int32_t t, int32_t d) { return (void *)(uintptr_t)(0x500 + d); }
int cuGetErrorName(int e, const char **s) { *s = "CUDA_ERROR_STUB"; return 0; }
int cuInit(unsigned f) { return 0; }
int cuCtxGetCurrent(void **c) { *c = &loads; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(uintptr_t)(0x900 + d); return 0; }
int cuCtxSetCurrent(void *c) { device = (int)(uintptr_t)c - 0x900; return 0; }
int cuModuleLoadData(void **m, const void *image) { *m = &loads; loads++; return 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)name; return 0; }
int cuFuncSetAttribute(void *f, int what, int n) { return 0; }
int cuModuleUnload(void *m) { return 0; }
int cuLaunchKernelEx(const Config *c, void *f, void **p, void **extra) {
  snprintf(log_, 1023, "grid %u stream %p a %p n %d s %lld b %p c %g", c->grid[0], c->stream,
           *(void **)p[0], *(int *)p[1], *(long long *)p[2], *(void **)p[3], *(float *)p[7]);
  return fail; }
"""


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_uint64), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class Object(ctypes.Structure):
    _fields_ = [("header", ctypes.c_uint64 * 3), ("tensor", Tensor)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("p", ctypes.c_void_p)]


class Packed(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int32), ("zero", ctypes.c_uint32), ("value", Value)]


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < a.shape[0]:
        b[i, 0] = a[i, 0] + c


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32, n: cutlass.Int8, stream):
    grid = cute.ceil_div(a.shape[0], 32)
    add_kernel(a, b, c).launch(grid=grid, block=32, stream=stream)
    return a.shape[0] - n


class Library:
    def __init__(self, path: Path) -> None:
        self.c: Any = ctypes.CDLL(str(path))
        self.entry = self.c.__getattr__("__tvm_ffi_add")

    def text(self, name: str) -> str:
        return (ctypes.c_char * 1024).in_dll(self.c, name).value.decode()

    def __call__(self, *args: Any) -> Any:
        packed, out = (Packed * max(len(args), 1))(), Packed()
        for slot, arg in zip(packed, args, strict=False):
            if isinstance(arg, Tensor):
                slot.index, slot.value.p = 7, ctypes.addressof(arg)
            elif isinstance(arg, Object):
                slot.index, slot.value.p = 70, ctypes.addressof(arg)
            elif isinstance(arg, float):
                slot.index, slot.value.f = 3, arg
            elif arg is not None:
                slot.index, slot.value.i = 1, arg
        status = self.entry(None, packed, len(args), ctypes.byref(out))
        if status:
            assert status == -1
            return self.text("kind")[:20], self.text("message")
        return out.index, out.value.i


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENCUTE_TARGET", "sim")
        out = tmp_path_factory.mktemp("ffi")
        n = cute.sym_int(divisibility=4)
        a = make_fake_tensor(
            cute.Float32, (n, 4), stride=(cute.sym_int64(divisibility=2), 1), assumed_align=16
        )
        b = make_fake_compact_tensor(
            cute.Float32, (n, cute.sym_int()), stride_order=(1, 0), assumed_align=16
        )
        stream = make_fake_stream(use_tvm_ffi_env_stream=True)
        compiled = cute.compile(add, a, b, 1.0, 0, stream, options="--enable-tvm-ffi")
        compiled.export_to_c(out / "add.o", function_name="add")
    (out / "stub.c").write_text(STUB)
    command = ["gcc", "-w", "-shared", "-fPIC", "-o", "lib.so", "stub.c", "add.o"]
    subprocess.run(command, check=True, cwd=out)
    return Library(out / "lib.so")


def tensor(shape: tuple[int, ...], strides: tuple[int, ...], **other: Any) -> Tensor:
    facts = {"data": 0x1000, "device": 2, "ordinal": 3, "code": 2, "bits": 32, "lanes": 1} | other
    t = Tensor(ndim=len(shape), **facts)
    t.shape = (ctypes.c_int64 * len(shape))(*shape)
    t.strides = (ctypes.c_int64 * len(shape))(*strides)
    return t


def test_arguments_reach_the_launch(library: Library) -> None:
    loads = ctypes.c_int.in_dll(library.c, "loads")
    a, b = tensor((64, 4), (10, 1)), tensor((64, 8), (8, 1), data=0x2000, offset=0x40)
    for _ in range(2):
        assert library(a, b, 2.5, 4) == (1, 60)
        want = "grid 2 stream 0x503 a 0x1000 n 64 s 10 b 0x2040 c 2.5"
        assert library.text("log_") == want and loads.value == 1
    assert ctypes.c_int.in_dll(library.c, "device").value == 3
    assert library(Object(tensor=a), Object(tensor=b), 3, -1) == (1, 65)
    assert library.text("log_").endswith("c 3")
    one = tensor((4, 4), (10, 1), ordinal=1)
    assert library(one, tensor((4, 1), (1, 5), ordinal=1), 1.0, 0) == (1, 4)
    assert loads.value == 2  # another device


SIGNATURE = "add(a: Tensor([n0, 4], float32), b: Tensor([n0, n2], float32), c: f32, n: i8)"
A, B = ((64, 4), (10, 1)), ((64, 8), (8, 1))


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        ((1, tensor(*B), 1.0, 0), "TypeError", "Mismatched type on argument #0"),
        ((tensor(*A), tensor(*B), 1.0), "TypeError", "Mismatched number of arguments"),
        ((tensor(*A), tensor(*B), None, 0), "TypeError", "Mismatched type on argument #2"),
        ((tensor(*A), tensor(*B), 1.0, 1.5), "TypeError", "argument #3"),
        ((tensor(*A), tensor(*B), 1.0, 128), "ValueError", "Invalid n on argument #3"),
        ((tensor(*A, bits=16), tensor(*B), 1.0, 0), "TypeError", "Mismatched a.dtype"),
        ((tensor(*A, device=1), tensor(*B), 1.0, 0), "ValueError", "a CUDA device"),
        ((tensor(*A), tensor(*B, ordinal=0), 1.0, 0), "ValueError", "that of the first tensor"),
        ((tensor(*A, data=0x1004), tensor(*B), 1.0, 0), "ValueError", "data alignment=16 bytes"),
        ((tensor((64,), (1,)), tensor(*B), 1.0, 0), "ValueError", "Mismatched a.ndim"),
        ((tensor((64, 5), (10, 1)), tensor(*B), 1.0, 0), "ValueError", "Mismatched a.shape[1]"),
        ((tensor(*A), tensor((60, 8), (8, 1)), 1.0, 0), "ValueError", "to match a.shape[0]"),
        ((tensor((62, 4), (10, 1)), tensor(*B), 1.0, 0), "ValueError", "to be divisible by 4"),
        ((tensor((64, 4), (9, 1)), tensor(*B), 1.0, 0), "ValueError", "Invalid a.stride[0]"),
        ((tensor((64, 4), (10, 2)), tensor(*B), 1.0, 0), "ValueError", "Mismatched a.stride[1]"),
        ((tensor(*A), tensor((64, 8), (9, 1)), 1.0, 0), "ValueError", "a compact tensor"),
        ((tensor((1 << 31, 4), (10, 1)), tensor(*B), 1.0, 0), "ValueError", "less than 2^31"),
    ],
)
def test_checks(library: Library, args: Any, kind: str, text: str) -> None:
    got = library(*args)
    assert got[0] == kind and text in got[1] and f"`{SIGNATURE}`" in got[1]


def test_errors_of_the_driver(library: Library) -> None:
    fail = ctypes.c_int.in_dll(library.c, "fail")
    fail.value = 700
    try:
        assert library(tensor(*A), tensor(*B), 1.0, 0) == ("RuntimeError", "CUDA_ERROR_STUB")
    finally:
        fail.value = 0
