# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What users of this and of similar languages ran into: layouts, offsets, imports, compiling.

Numbers in names are issues of NVIDIA/cutlass; others name their project.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device, on_host
from opencute import cute
from opencute.base.errors import LanguageError, OpenCuTeError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

ROOT = Path(__file__).resolve().parents[2]


@cute.kernel
def fill_kernel(t: cute.Tensor, value: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < cute.size(t):
        t[i] = value


@cute.jit
def fill(t: cute.Tensor, value: cutlass.Int32):
    fill_kernel(t, value).launch(grid=1, block=32)


@pytest.mark.parametrize("rows", [8, 10, 12])
def test_3454_slicing_a_static_swizzled_layout(rows: int) -> None:
    """A slice of it is a layout, whatever its first mode is."""

    def body(out: Any) -> None:
        whole = cute.make_composed_layout(
            cute.make_swizzle(2, 3, 3), 0, cute.make_layout((rows, 32), stride=(32, 1))
        )
        for r in cutlass.range_constexpr(rows):
            row = cute.slice_(whole, (r, None))
            out[r] = row(5)
            if cutlass.const_expr(row(5) != whole((r, 5))):
                out[r] = -1

    out = np.zeros(rows, np.int32)
    on_device(body, out)
    want = [(o := r * 32 + 5) ^ (((o >> 6) & 3) << 3) for r in range(rows)]
    assert out.tolist() == want


def test_3429_compile_of_a_kernel_is_a_usage_error() -> None:
    with pytest.raises(LanguageError, match="takes a host function") as e:
        cute.compile(fill_kernel, from_dlpack(np.zeros(4, np.int32)), 3)
    assert "@cute.jit" in (e.value.hint or "")


def test_2699_import_order_does_not_matter(tmp_path: Path) -> None:
    """A script that imports `cutlass.cute` only works."""
    script = tmp_path / "only_cute.py"
    script.write_text(
        "import numpy as np\nimport cutlass.cute as cute\n"
        "@cute.kernel\ndef k(t):\n    t[0] = 7\n"
        "@cute.jit\ndef f(t: cute.Tensor):\n    k(t).launch(grid=1, block=1)\n"
        "x = np.zeros(1, np.int32)\nf(x)\nassert x[0] == 7\n",
        encoding="utf-8",
    )
    env = {"PYTHONPATH": str(ROOT / "src"), "OPENCUTE_TARGET": "sim", "PATH": ""}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr


def test_3604_offsets_of_large_tensors_are_64_bit(tmp_path: Path) -> None:
    """A run-time coordinate times a static stride may exceed 32 bits."""
    rows, columns = 70_000, 65_536
    big = np.memmap(tmp_path / "big", np.int8, "w+", shape=(rows, columns))  # sparse

    @cute.kernel
    def kernel(t: cute.Tensor, at: cutlass.Int32):
        moved = cute.domain_offset((at, 0), t)
        moved[0, 3] = 9

    @cute.jit
    def host(t: cute.Tensor, at: cutlass.Int32):
        kernel(t, at).launch(grid=1, block=1)

    host(from_dlpack(big), 69_999)
    assert big[69_999, 3] == 9 and 69_999 * columns > 1 << 32


def test_3604_the_machine_code_does_not_wrap_either() -> None:
    @cute.kernel
    def kernel(t: cute.Tensor, at: cutlass.Int32):
        cute.domain_offset((at, 0), t)[0, 3] = 9

    @cute.jit
    def host(t: cute.Tensor, at: cutlass.Int32):
        kernel(t, at).launch(grid=1, block=1)

    # An array of that size without its memory: one element, seen again and again.
    tall = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (70_000, 1 << 16), (1 << 16, 1))
    ptx = cute.compile(host, from_dlpack(tall), 1).__ptx__
    products = [line.strip() for line in ptx.splitlines() if "mul" in line or "shl" in line]
    assert products and all("wide" in p or "64" in p for p in products), products


def test_3327_strides_of_modes_of_one_element_do_not_matter() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.int32), (1, 4), (1 << 40, 4))
    fill(from_dlpack(x), 5)
    assert x.tolist() == [[5, 5, 5, 5]]
    fill(from_dlpack(x).mark_layout_dynamic(), 6)
    assert x.tolist() == [[6, 6, 6, 6]]


def test_3469_coalesce_merges_run_time_modes_when_asked() -> None:
    def body(t: Any, n: cutlass.Int32, out: Any) -> None:
        plain = cute.make_layout((16, n), stride=(8, 128))
        out[0] = cute.rank(cute.coalesce(plain))
        out[1] = cute.rank(cute.coalesce(cute.make_layout((16, 4), stride=(8, 128))))

    out = np.zeros(2, np.int32)
    on_host(body, np.zeros(4, np.int32), cutlass.Int32(4), out)
    assert out.tolist() == [2, 1]


def test_2302_every_stage_can_be_read() -> None:
    compiled = cute.compile(fill, from_dlpack(np.zeros(4, np.int32)), 3)
    assert "gpu.func" in compiled.__mlir__
    assert ".visible .entry" in compiled.__ptx__
    assert compiled.__cubin__[:4] == b"\x7fELF"
    assert "STG" in compiled.__sass__


def test_3389_the_user_chooses_the_kernels_name() -> None:
    """No prefix of ours is forced on a name, as some tools act on names."""

    @cute.kernel
    def plain(t: cute.Tensor):
        t[0] = 1

    plain.set_name_prefix("my_gemm")

    @cute.jit
    def host(t: cute.Tensor):
        plain(t).launch(grid=1, block=1)

    ptx = cute.compile(host, from_dlpack(np.zeros(4, np.int32))).__ptx__
    names = [line.split()[2].split("(")[0] for line in ptx.splitlines() if ".entry" in line]
    assert names and all(n.startswith("my_gemm") for n in names)
    assert "cutlass" not in "".join(names)


@pytest.mark.parametrize("wrapped", [False, True])
def test_2676_wrapping_a_number_does_not_change_what_is_legal(wrapped: bool) -> None:
    def body(t: Any, n: cutlass.Int32) -> None:
        size = cutlass.Int32(8) if wrapped else 8
        cute.make_layout(size)
        if n > 3:
            t[0] = size

    @cute.jit
    def host(t: cute.Tensor, n: cutlass.Int32):
        kernel(t, n).launch(grid=1, block=1)

    @cute.kernel
    def kernel(t: cute.Tensor, n: cutlass.Int32):
        inner(t, n)

    inner = cute.jit(body)
    x = np.zeros(1, np.int32)
    host(from_dlpack(x), 4)
    assert x[0] == 8


@pytest.mark.parametrize("kind", [int, cutlass.Int32, cutlass.Int64, cutlass.Uint8, np.int64])
def test_2314_local_partition_takes_every_kind_of_integer(kind: Any) -> None:
    def body(t: Any) -> None:
        part = cute.local_partition(t, cute.make_layout(4), kind(1))
        for k in cutlass.range_constexpr(cute.size(part)):
            part[k] = 1

    x = np.zeros(8, np.int32)
    on_device(body, x)
    assert x.tolist() == [0, 1, 0, 0, 0, 1, 0, 0]


def test_2314_and_nothing_else() -> None:
    with pytest.raises((OpenCuTeError, TypeError)):
        on_device(lambda t: cute.local_partition(t, cute.make_layout(4), "1"), np.zeros(8))


def test_2747_more_shared_memory_than_a_block_has() -> None:
    @cute.jit
    def host(t: cute.Tensor):
        fill_kernel(t, 1).launch(grid=1, block=32, smem=512 << 20)

    with pytest.raises(OpenCuTeError) as e:
        host(from_dlpack(np.zeros(4, np.int32)))
    assert str(512 << 20) in str(e.value) and "232448" in str(e.value)


@pytest.mark.slow
def test_2524_the_wheel_is_pure_python(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path)]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no build backend can be had here: {done.stderr.strip()[-200:]}")
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [n for n in names if n.endswith((".so", ".pyd", ".dll"))]
    assert "cutlass/__init__.py" in names and "opencute/py.typed" in names
