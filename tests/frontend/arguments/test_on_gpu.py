# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and results through machine code: tensors for fakes, numbers, exported code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import (
    from_dlpack,
    load_module,
    make_fake_compact_tensor,
    make_fake_stream,
    make_ptr,
)

pytestmark = pytest.mark.t2


@pytest.fixture(autouse=True)
def _on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "cuda")


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(a):
        b[i] = a[i] + c


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32, stream):
    add_kernel(a, b, c).launch(grid=cute.ceil_div(cute.size(a), 32), block=32, stream=stream)
    return cute.size(a), c * 2, cutlass.Uint8(cute.size(a) + 200)


def fakes() -> list[Any]:
    n = cute.sym_int(divisibility=4)
    return [make_fake_compact_tensor(cute.Float32, (n,), assumed_align=16) for _ in range(2)]


def pair(n: int) -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")
    return torch.arange(n, device="cuda", dtype=torch.float32), torch.zeros(n, device="cuda")


def test_torch_tensors_for_fakes_and_results() -> None:
    torch = pytest.importorskip("torch")
    compiled = cute.compile(add, *fakes(), 1.0, make_fake_stream(), options="--enable-tvm-ffi")
    for n in (64, 4096, 0, 64):
        a, b = pair(n)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        for _ in range(3):  # the second and third call may take a shorter path
            assert compiled(a, b, 2.5, stream) == (n, 5.0, (n + 200) % 256)
        stream.synchronize()
        assert torch.equal(b, a + 2.5)
    a, b = pair(64)
    for _ in range(3):
        compiled(a, b, 1.0, 0)
        for args, code in (
            ((a, b[:32]), "OC2133"), ((a[:6], b[:6]), "OC2138"), ((a[1:5], b[:4]), "OC2135"),
            ((a.int(), b), "OC2131"), ((a.reshape(8, 8), b), "OC2131"), ((a, 1), "OC2136"),
        ):  # fmt: skip
            with pytest.raises(ArgumentError) as e:
                compiled(*args, 1.0, 0)
            assert e.value.code == code


def test_the_current_stream_is_used() -> None:
    torch = pytest.importorskip("torch")
    fake = make_fake_stream(use_tvm_ffi_env_stream=True)
    compiled = cute.compile(add, *fakes(), 1.0, fake, options="--enable-tvm-ffi")
    a, b = pair(1 << 22)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for _ in range(4):
        b.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            compiled(a, b, 3.0)
        assert not stream.query()
        stream.synchronize()
        assert torch.equal(b, a + 3)


@cute.kernel
def note_kernel(t: cute.Tensor, out: cute.Tensor, numbers: tuple):
    if cute.arch.thread_idx()[0] == 0:
        for i in cutlass.range_constexpr(3):
            out[i] = cutlass.Int64(t.shape[i])
            out[3 + i] = cutlass.Int64(t.stride[i])
        for i in cutlass.range_constexpr(len(numbers)):
            out[6 + i] = cutlass.Int64(numbers[i])


@cute.jit
def note(t: cute.Tensor, out: cute.Tensor, numbers: tuple):
    note_kernel(t, out, numbers).launch(grid=1, block=32)


NUMBERS: dict[Any, Any] = {
    cutlass.Int8: -7, cutlass.Uint8: 200, cutlass.Int16: -300, cutlass.Uint16: 60000,
    cutlass.Int32: -(1 << 31), cutlass.Uint32: (1 << 32) - 1, cutlass.Int64: -(1 << 62),
    cutlass.Boolean: True, cutlass.Float16: 1.0, cutlass.BFloat16: -2.0, cutlass.Float32: 3.0,
    cutlass.Float64: -1e10,
}  # fmt: skip


@pytest.mark.parametrize("widths", [(32, 32, 32), (64, 64, 64), (32, 64, 32)])
@pytest.mark.parametrize("narrow", [False, True])
def test_every_field_reaches_the_kernel(widths: Any, narrow: bool) -> None:
    torch = pytest.importorskip("torch")
    symbols = tuple(map(cute.sym_int, widths))
    fake = make_fake_compact_tensor(
        cute.Float32, symbols, stride_order=(1, 2, 0), use_32bit_stride=narrow
    )
    out = torch.zeros(6 + len(NUMBERS), dtype=torch.int64, device="cuda")
    marked = from_dlpack(out).mark_layout_dynamic()
    compiled = cute.compile(note, fake, marked, tuple(c(0) for c in NUMBERS))
    for shape in ((3, 6, 8), (1, 5, 7), (64, 2, 1024)):
        x = torch.zeros(shape[1], shape[0], shape[2], device="cuda").permute(1, 0, 2)
        compiled(x, out, tuple(NUMBERS.values()))
        assert out.tolist() == [*shape, *x.stride(), *map(int, NUMBERS.values())]


def test_strides_of_more_than_31_bits() -> None:
    torch = pytest.importorskip("torch")
    try:
        base = torch.zeros((1 << 32) + 64, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pytest.skip("needs 4 GiB")
    x = torch.as_strided(base, (2, 8), (1 << 32, 1))

    @cute.kernel
    def set_kernel(t: cute.Tensor):
        i = cute.arch.thread_idx()[0]
        t[1, i] = cutlass.Uint8(i + 1)

    @cute.jit
    def set_last(t: cute.Tensor):
        set_kernel(t).launch(grid=1, block=8)

    set_last(x)
    assert base[1 << 32 :][:8].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_pointers_and_protocols() -> None:
    torch = pytest.importorskip("torch")

    class Buffer:
        def __init__(self, ptr: Any, size: int) -> None:
            self.ptr, self.size = ptr, size

        def __c_pointers__(self) -> list[Any]:
            return self.ptr.__c_pointers__()

        def __get_mlir_types__(self) -> list[Any]:
            return self.ptr.__get_mlir_types__()

        def __extract_mlir_values__(self) -> list[Any]:
            return self.ptr.__extract_mlir_values__()

        def __new_from_mlir_values__(self, values: list[Any]) -> Any:
            return Buffer(self.ptr.__new_from_mlir_values__(values), self.size)

    @cute.kernel
    def fill_kernel(b: Any):
        i = cute.arch.thread_idx()[0]
        cute.make_tensor(b.ptr, cute.make_layout(b.size))[i] = i

    @cute.jit
    def fill(b: Any):
        fill_kernel(b).launch(grid=1, block=b.size)

    x = torch.zeros(8, dtype=torch.int32, device="cuda")
    fill(Buffer(make_ptr(cutlass.Int32, x.data_ptr(), cute.AddressSpace.gmem), 5))
    assert x.tolist() == [0, 1, 2, 3, 4, 0, 0, 0]


def test_exported_functions(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    compiled = cute.compile(add, *fakes(), 1.0, make_fake_stream())
    compiled.export_to_c(tmp_path, "adding", "add")
    files = [tmp_path / "adding.o"]
    if shutil.which("gcc"):
        files.append(tmp_path / "libadding.so")
        subprocess.run(["gcc", "-shared", "-o", str(files[1]), str(files[0])], check=True)
    for file in files:
        function = load_module(file).add
        a, b = pair(1024)
        assert function(a, b, 1.5, 0) == (1024, 3.0, (1024 + 200) % 256)
        assert torch.equal(b, a + 1.5)
        with pytest.raises(ArgumentError, match="OC2133"):
            function(a, b[:512], 1.5, 0)


def test_numpy_arrays_for_fakes() -> None:
    compiled = cute.compile(add, *fakes(), 1.0, make_fake_stream())
    raw = np.zeros(96, np.float32)
    start = -raw.ctypes.data // 4 % 16
    a, b = raw[start : start + 32], raw[start + 32 : start + 64]
    a[:] = np.arange(32)
    compiled(a, b, 2.0, 0)
    np.testing.assert_array_equal(b, a + 2)
