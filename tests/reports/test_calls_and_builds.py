# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of this and of similar languages ran into: calls, arguments, building, copies.

Numbers in names are issues of NVIDIA/cutlass; others name their project. Others stand where they
belong: 2507 and helion 2817 in runtime/test_driver and runtime/test_stream, 2856 in
lang/tiled/test_unroll_factor, 2376 and 2634 in tools/test_layout_pages, 3114 in lang/asm.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from compiled import load_source, on_device
from opencute import cute
from opencute.arch.target import target
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError, CompileError, LayoutError, ToolchainError
from opencute.base.knobs import KNOBS
from opencute.codegen.ptxas import Assembler
from opencute.cute.nvgpu import warp
from opencute.cute.runtime import (
    find_runtime_libraries,
    from_dlpack,
    load_module,
    make_fake_compact_tensor,
)
from opencute.integrations.driver_stub import StubDriver

pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def simulated() -> Any:
    with KNOBS.override(target="sim"):
        yield


@cute.kernel
def fill_kernel(t: cute.Tensor, value: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < cute.size(t):
        t[i] = value


@cute.jit
def fill(t: cute.Tensor, value: cutlass.Int32):
    fill_kernel(t, value).launch(grid=1, block=32)


# ---------------------------------------------------------------- calls
def test_2984_the_same_arguments_again() -> None:
    x = np.zeros(8, np.int32)
    t = from_dlpack(x)
    compiled = cute.compile(fill, t, 3)
    for value in (3, 4, 4, 5):
        compiled(t, value)
        assert x.tolist() == [value] * 8


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ((np.zeros(9, np.int32), 3), "'t'"),
        ((np.zeros(8, np.float32), 3), "'t'"),
        ((None, 3), "'t'"),
        ((np.zeros(8, np.int32), "3"), "'value'"),
        ((np.zeros(8, np.int32), 1 << 40), "'value'"),
    ],
)
def test_2984_wrong_arguments_are_named_before_anything_is_launched(args: Any, names: str) -> None:
    with KNOBS.override(target="cuda"), StubDriver() as stub:
        wrapped = [from_dlpack(a) if isinstance(a, np.ndarray) else a for a in args]
        compiled = cute.compile(fill, from_dlpack(np.zeros(8, np.int32)), 3)
        with pytest.raises((ArgumentError, TypeError)) as e:
            compiled(*wrapped)
        assert names in str(e.value) and not stub.launches
        assert getattr(e.value, "code", "").startswith("OC")


@pytest.mark.parametrize("kind", ["backed", "unbacked"])
def test_pytorch_165854_flash_attention_2353_symbolic_integers(kind: str) -> None:
    """A number of a graph with dynamic shapes is its value, which torch guards."""
    symbolic = pytest.importorskip("torch.fx.experimental.symbolic_shapes")
    from torch._dynamo.source import ConstantSource

    env, source = symbolic.ShapeEnv(), ConstantSource("n")
    x = np.zeros(8, np.int32)
    if kind == "unbacked":
        with pytest.raises(Exception, match=r"Could not extract|data-dependent"):
            fill(from_dlpack(x), env.create_unbacked_symint())
        return
    n = env.create_symintnode(env.create_symbol(5, source), hint=5, source=source)
    fill(from_dlpack(x), n)
    assert x.tolist() == [5] * 8 and env.guards


def test_165854_one_kernel_serves_all_values_of_a_symbol() -> None:
    x = np.zeros(8, np.int32)
    compiled = cute.compile(fill, from_dlpack(x), cute.sym_int())
    before = COUNTERS.compilations
    for n in (5, 6, 1 << 20):
        compiled(from_dlpack(x), n)
        assert x.tolist() == [n] * 8
    assert COUNTERS.compilations == before


@cute.kernel
def sizes_kernel(t: cute.Tensor, out: cute.Tensor):
    out[0], out[1] = t.shape[0], t.shape[1]
    out[2], out[3] = t.stride[0], t.stride[1]


@cute.jit
def sizes(t: cute.Tensor, out: cute.Tensor):
    sizes_kernel(t, out).launch(grid=1, block=1)


@pytest.mark.parametrize(
    "mark",
    [
        lambda t: t.mark_compact_shape_dynamic(mode=0),
        lambda t: t.mark_compact_shape_dynamic(mode=1, divisibility=2),
        lambda t: t.mark_compact_shape_dynamic(mode=0).mark_compact_shape_dynamic(mode=1),
        lambda t: t.mark_layout_dynamic(),
    ],
)
def test_2794_dynamic_extents_are_read_right(mark: Any) -> None:
    for shape in ((6, 10), (3, 4)):
        out = np.zeros(4, np.int32)
        sizes(mark(from_dlpack(np.zeros(shape, np.float32))), from_dlpack(out))
        assert out.tolist() == [*shape, shape[1], 1]


def test_2339_a_benchmark_does_not_time_compilation() -> None:
    x = from_dlpack(np.zeros(8, np.int32))
    calls: list[int] = []

    def call(t: Any, value: int) -> None:
        calls.append(COUNTERS.compilations)
        fill(t, value)

    arguments = cute.testing.JitArguments(x, 3)
    time = cute.testing.benchmark(
        call, kernel_arguments=arguments, warmup_iterations=2, iterations=5, nvtx_tag="fill"
    )
    assert time > 0 and len(calls) >= 2
    assert len({*calls[1:]}) == 1, "nothing is compiled after the first call, which is not timed"


# ---------------------------------------------------------------- building
def test_3329_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError) as e:
        load_module("there/is/none.so")
    assert e.value.code == "OC2148" and str(Path("there/is/none.so").absolute()) in str(e.value)
    (tmp_path / "empty.so").write_bytes(b"\x7fELF")
    with pytest.raises(ArgumentError, match="no exported functions") as e:
        load_module(tmp_path / "empty.so")
    assert "export_to_c" in (e.value.hint or "")


def exported(folder: Path, name: str) -> Path:
    fake = make_fake_compact_tensor(cute.Int32, (8,))
    cute.compile(fill, fake, 3, options="--gpu-arch sm_80").export_to_c(str(folder), name, name)
    return folder / f"{name}.o"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_2852_3562_objects_of_one_kernel_link_together(tmp_path: Path) -> None:
    """Symbols begin with the chosen prefix; the header says what the results mean."""
    objects = [str(exported(tmp_path, n)) for n in ("one", "two")]
    library = tmp_path / "libboth.so"
    command = ["gcc", "-shared", "-o", str(library), *objects, *find_runtime_libraries()]
    subprocess.run(command, check=True)
    for name in ("one", "two"):
        x = np.zeros(8, np.int32)
        getattr(load_module(library), name)(x, 7)
        assert x.tolist() == [7] * 8
        header = (tmp_path / f"{name}.h").read_text()
        assert "CUresult" in header and "0 is success" in header and f"{name}__host" in header


def test_3447_the_header_has_64_bits_where_the_function_has_them(tmp_path: Path) -> None:
    long, short = cute.sym_int64(), cute.sym_int32()
    fake = cute.runtime.make_fake_tensor(cute.Int32, (long,), (1,))
    cute.compile(fill, fake, 3, options="--gpu-arch sm_80").export_to_c(str(tmp_path), "long", "l")
    fake = cute.runtime.make_fake_tensor(cute.Int32, (short,), (1,))
    cute.compile(fill, fake, 3, options="--gpu-arch sm_80").export_to_c(str(tmp_path), "short", "s")
    wide, narrow = ((tmp_path / f"{n}.h").read_text() for n in ("long", "short"))
    assert "int64_t dynamic_shapes" in wide and "int32_t dynamic_shapes" in narrow


FP8 = (cutlass.Float8E4M3FN, cutlass.Float8E5M2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_cudnn_frontend_397_8_bit_floats_compile_everywhere(arch: str) -> None:
    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor):
        v = a.load()
        for cls in FP8:
            v = (v.to(cls) + v.to(cls)).to(cutlass.Float32)
        b.store(v)

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        kernel(a, b).launch(grid=1, block=1)

    x = from_dlpack(np.zeros(4, np.float32))
    assert cute.compile(host, x, x, options=f"--gpu-arch {arch}").__cubin__[:4] == b"\x7fELF"


def test_cudnn_frontend_397_what_ptxas_says_is_in_the_error() -> None:
    with Assembler(target("sm_80")) as assembler:
        assembler.feed(".version 8.0\n.target sm_80\n.visible .entry k() { mov.b32 %r1, 2; }\n")
        with pytest.raises(ToolchainError) as e:
            assembler.finish()
    assert "%r1" in str(e.value)


def test_2456_lines_of_python_are_in_the_machine_code(tmp_path: Path) -> None:
    source = (
        "@cute.kernel\ndef kernel(t: cute.Tensor):\n    t[0] = t[1] + 1\n\n"
        "@cute.jit\ndef host(t: cute.Tensor):\n    kernel(t).launch(grid=1, block=1)\n"
    )
    module = load_source(source, tmp_path)
    x = from_dlpack(np.zeros(4, np.int32))
    plain = cute.compile(module.host, x)
    code = cute.compile(module.host, x, options="--generate-line-info")
    assert Path(module.__file__ or "").name in code.__ptx__ and ".loc" not in plain.__ptx__
    assert any(line.split()[2:3] == ["3"] for line in code.__ptx__.splitlines() if ".loc" in line)
    assert b".debug_line" in code.__cubin__


def test_2677_a_small_kernel_with_large_vectors_compiles_fast() -> None:
    """Two minutes elsewhere; counted in operations here, not in seconds."""

    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        v = a[i, None].load()
        for _ in range(4):
            v = v * v + 1.0
        b[i, None].store(v)

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        kernel(a, b).launch(grid=1, block=32)

    lengths: list[int] = []
    for n in (64, 128):
        x = from_dlpack(np.zeros((32, n), np.float32), assumed_align=16)
        code = cute.compile(host, x, x)
        lengths.append(len(code.__ptx__))
        assert len(code.__mlir__) < 12_000, "vectors stay vectors until machine code is made"
    assert lengths[1] < 2.5 * lengths[0]


# ---------------------------------------------------------------- layouts, copies, products
@pytest.mark.parametrize(
    ("threads", "values", "code"),
    [
        (cute.make_layout((4, 8)), cute.make_layout((3, 1)), "OC1361"),
        (cute.make_layout((4, 8), stride=(1, 4)), cute.make_layout((1, 2)), "OC1361"),
        (cute.make_layout((4, 8), stride=(0, 1)), cute.make_layout((1, 4)), "OC1312"),
        (cute.make_layout((4, 8), stride=(1, 8)), cute.make_layout((1, 4)), "OC1312"),
        (32, cute.make_layout((1, 4)), "OC1314"),
        (cute.make_layout((4, 8)), None, "OC1314"),
    ],
)
def test_2319_wrong_layouts_of_a_tiled_copy(threads: Any, values: Any, code: str) -> None:
    def body(t: Any) -> None:
        atom = cute.make_copy_atom(
            cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128
        )
        cute.make_tiled_copy_tv(atom, threads, values)

    with pytest.raises(LayoutError) as e:
        on_device(body, np.zeros((16, 16), np.float32), block=32)
    assert e.value.code == code and e.value.loc is not None and e.value.loc.file == __file__


def test_2347_fragments_of_tensors_and_of_shapes() -> None:
    shapes: list[Any] = []

    def body(c: Any) -> None:
        op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (2, 1, 1))
        mine = mma.get_slice(cute.arch.thread_idx()[0])
        part = mine.partition_C(c)
        for fragment in (
            mma.make_fragment_C(part), mma.make_fragment_C(part.shape),
            mma.make_fragment_C(mma.partition_shape_C((64, 32))),
        ):  # fmt: skip
            shapes.append(fragment.shape)
            assert fragment.element_type is cutlass.Float32

    on_device(body, np.zeros((64, 32), np.float32), block=64)
    assert len({*map(str, shapes)}) == 1


def test_2722_inverses_take_another_shape() -> None:
    layout = cute.make_layout((4, 8), stride=(8, 1))
    inverse = cute.right_inverse(layout)
    seen = inverse.with_shape((4, 8))
    assert cute.with_shape(inverse, (4, 8)) == seen == inverse.with_shape(4, 8)
    assert all(layout(seen((i, j))) == i + 4 * j for i in range(4) for j in range(8))
    assert cute.size(cute.left_inverse(layout).with_shape(32)) == 32


def product(op: Any, a: Any, b: Any, c: Any, arch: str) -> Any:
    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        mma = cute.make_tiled_mma(op)
        mine = mma.get_slice(cute.arch.thread_idx()[0])
        parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
        fa, fb = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1])
        fc = mma.make_fragment_C(parts[2])
        cute.autovec_copy(parts[0], fa)
        cute.autovec_copy(parts[1], fb)
        fc.fill(0)
        cute.gemm(mma, fc, fa, fb, fc)
        cute.autovec_copy(fc, parts[2])

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        kernel(a, b, c).launch(grid=1, block=32)

    return cute.compile(host, *map(from_dlpack, (a, b, c)), options=f"--gpu-arch {arch}")


def bytes_of(op: Any) -> Any:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s) for s in ((16, 32), (8, 32)))
    if isinstance(op, warp.MmaFP8Op):
        return a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn), np.float32
    return a.astype(np.int8), b.astype(np.int8), np.int32


@pytest.mark.parametrize(
    ("op", "arch"),
    [
        (warp.MmaI8Op(cutlass.Int8, cutlass.Int8, (16, 8, 32)), "sm_80"),
        (warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32)), "sm_89"),
        (warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32)), "sm_120a"),
    ],
)
def test_3081_products_of_bytes_on_ampere_and_ada(op: Any, arch: str) -> None:
    a, b, result = bytes_of(op)
    c = np.zeros((16, 8), result)
    with KNOBS.override(target=f"sim:{arch}"):
        compiled = product(op, a, b, c, arch)
        compiled(*map(from_dlpack, (a, b, c)))
    assert np.array_equal(c, (a.astype(np.int32) @ b.astype(np.int32).T).astype(result))
    assert "mma.sync.aligned.m16n8k32" in compiled.__ptx__ and "MMA" in compiled.__sass__


def test_2614_the_message_names_what_the_processor_has() -> None:
    op = warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32))
    a, b, result = bytes_of(op)
    with pytest.raises(CompileError) as e:
        _ = product(op, a, b, np.zeros((16, 8), result), "sm_86").__ptx__
    assert e.value.code == "OC1066" and "sm_89 or later" in str(e.value)
    hint = e.value.hint or ""
    assert "sm_86 has MmaF16BF16Op" in hint and "MmaFP8Op" not in hint


@pytest.mark.parametrize("arch", ["sm_120a", "sm_121a", "sm_110a", "sm_103a"])
def test_2614_all_of_a_family_take_warp_products(arch: str) -> None:
    op = warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32))
    a, b, result = bytes_of(op)
    assert "mma.sync" in product(op, a, b, np.zeros((16, 8), result), arch).__ptx__
