# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.extern`: device functions of other compilers (NVIDIA/cutlass 3114, 2966, 3573)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    SimulationError,
    ToolchainError,
    TypeMismatchError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

LIBRARY = """.version 7.8
.target sm_80
.address_size 64
.visible .func (.param .b32 r) scale_add(.param .b32 a, .param .b32 b)
{
  .reg .f32 %f<4>;
  ld.param.f32 %f1, [a];
  ld.param.f32 %f2, [b];
  fma.rn.f32 %f3, %f1, 0f40000000, %f2;
  st.param.f32 [r], %f3;
  ret;
}
.visible .func add_at(.param .b64 p, .param .b64 n)
{
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [n];
  red.add.u64 [%rd1], %rd2;
  ret;
}
"""


@cute.extern(ptx=LIBRARY, pure=True)
def scale_add(a: cutlass.Float32, b: cutlass.Float32) -> cutlass.Float32:
    return 2 * a + b


@cute.extern(ptx=LIBRARY)
def add_at(p: cute.Pointer, n: cutlass.Int64):
    pass


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = scale_add(x[i], 1)
    if i > 1:
        y[i] = y[i] + scale_add(2.0, b=x[0])


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=1, block=4)


def test_in_the_simulator_the_declaration_computes() -> None:
    x, y = np.float32([1, 2, 3, 4]), np.zeros(4, np.float32)
    with KNOBS.override(target="sim"):
        host(from_dlpack(x), from_dlpack(y))
    assert y.tolist() == [3, 5, 7 + 5, 9 + 5]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_the_library_is_part_of_the_machine_code(arch: str) -> None:
    x = from_dlpack(np.zeros(4, np.float32))
    code = cute.compile(host, x, x, options=f"--gpu-arch {arch}")
    assert code.__ptx__.count(".func (.param .b32 r) scale_add") == 1
    assert "call (r), scale_add" in code.__ptx__ and code.__cubin__[:4] == b"\x7fELF"
    assert "FFMA" in code.__sass__


@pytest.mark.t2
def test_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(1, 5, dtype=torch.float32, device="cuda")
    y = torch.zeros_like(x)
    with KNOBS.override(target="cuda"):
        host(from_dlpack(x), from_dlpack(y))
    assert y.tolist() == [3, 5, 12, 14]


@cute.kernel
def counting_kernel(t: cute.Tensor):
    add_at(t.iterator, 5)


@cute.jit
def counting(t: cute.Tensor):
    counting_kernel(t).launch(grid=2, block=32)


def test_pointers_and_effects() -> None:
    t = from_dlpack(np.zeros(1, np.int64))
    code = cute.compile(counting, t, options="--gpu-arch sm_90a")
    assert "call add_at" in code.__ptx__ and "ATOM" in code.__sass__
    with pytest.raises(SimulationError) as e, KNOBS.override(target="sim"):
        counting(t)
    assert e.value.code == "OC3025" and e.value.loc is not None


def test_bitcode() -> None:
    import llvmlite.binding as llvm

    ir = """
    target triple = "nvptx64-nvidia-cuda"
    define float @thrice(float %x) { %y = fmul float %x, 3.0  ret float %y }
    """
    data = llvm.parse_assembly(ir).as_bitcode()

    @cute.extern(bitcode=data, pure=True)
    def thrice(x: cutlass.Float32) -> cutlass.Float32:
        return 3 * x

    @cute.kernel
    def inner(t: cute.Tensor):
        t[0] = thrice(t[1])

    @cute.jit
    def outer(t: cute.Tensor):
        inner(t).launch(grid=1, block=1)

    x = np.float32([0, 5])
    with KNOBS.override(target="sim"):
        outer(from_dlpack(x))
    code = cute.compile(outer, from_dlpack(x), options="--gpu-arch sm_90a")
    assert x[0] == 15 and "call (r), thrice" in code.__ptx__ and "FMUL" in code.__sass__
    with pytest.raises(ToolchainError) as e:
        cute.extern(bitcode=b"BC nothing")
    assert e.value.code == "OC1518"


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "library.ptx"
    file.write_text(LIBRARY)
    for given in (file, str(file)):

        @cute.extern(ptx=given, name="scale_add")
        def renamed(a: cutlass.Float32, b: cutlass.Float32) -> cutlass.Float32:
            return 2 * a + b

        assert renamed.name == "scale_add" and ".version" not in renamed.library


def narrow(a: cutlass.Float16) -> cutlass.Float32:
    """No parameter has 16 bits."""
    raise AssertionError


def bare(a) -> cutlass.Float32:
    """A parameter without a type."""
    raise AssertionError


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: cute.extern(), "OC2238"),
        (lambda: cute.extern(ptx=LIBRARY, bitcode=b"x"), "OC2238"),
        (lambda: cute.extern(ptx=LIBRARY, name="scale_ad")(bare), "OC2238"),
        (lambda: cute.extern(ptx=LIBRARY, name="scale_add")(bare), "OC1613"),
        (lambda: cute.extern(ptx=LIBRARY, name="scale_add")(narrow), "OC1613"),
    ],
)
def test_wrong_declarations(make: Any, code: str) -> None:
    with pytest.raises((ArgumentError, TypeMismatchError)) as e:
        make()
    assert e.value.code == code


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda t: scale_add(t[0]), "OC1268"),
        (lambda t: scale_add(t[0], 1, c=3), "OC1268"),
        (lambda t: add_at(t[0], 1), "OC1210"),
        (lambda t: scale_add("x", 1), "OC1204"),
    ],
)
def test_wrong_calls(call: Any, code: str) -> None:
    @cute.kernel
    def inner(t: cute.Tensor):
        call(t)

    @cute.jit
    def outer(t: cute.Tensor):
        inner(t).launch(grid=1, block=1)

    with pytest.raises(TypeMismatchError) as e, KNOBS.override(target="sim"):
        outer(from_dlpack(np.zeros(4, np.float32)))
    assert e.value.code == code and e.value.loc is not None and e.value.loc.file == __file__
