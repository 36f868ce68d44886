# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong or odd arguments: each gives a clear error or the right result, and nothing crashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opencute
from opencute import cute
from opencute.base.errors import (
    ArgumentError,
    LanguageError,
    LayoutError,
    MissingPieceError,
    OutOfBoundsError,
)
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.runtime import driver

pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def simulator() -> Iterator[None]:
    with KNOBS.override(target="sim"):
        yield


@cute.kernel
def double_kernel(gX: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    m, n = gX.shape[1]
    if i < m * n:
        tile = gX[None, (i // n, i % n)]
        tile.store(tile.load() * 2)


@cute.jit
def double(mX: cute.Tensor) -> None:
    gX = cute.zipped_divide(mX, (1, 4))
    double_kernel(gX).launch(grid=cute.ceil_div(cute.size(gX, mode=[1]), 64), block=64)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def dynamic(x: Any, **options: Any) -> Any:
    return from_dlpack(x, **options).mark_layout_dynamic()


def test_wrong_dtype_names_the_argument() -> None:
    compiled = cute.compile(double, dynamic(array(4, 8)))
    with pytest.raises(ArgumentError, match="mX") as e:
        compiled(dynamic(array(4, 8, dtype=np.float16)))
    assert e.value.code == "OC2131" and "f32" in str(e.value) and "f16" in str(e.value)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (array(4, 12), "mark_layout_dynamic"),
        (array(4, 8, dtype=np.float16), "convert the array"),
        (array(8), "reshape the array"),
    ],
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_the_hint_is_about_what_differs(given: Any, hint: str, wrapped: bool) -> None:
    compiled = cute.compile(double, from_dlpack(array(4, 8)))
    with pytest.raises(ArgumentError) as e:
        compiled(from_dlpack(given) if wrapped else given)
    assert e.value.code == "OC2131" and hint in str(e.value.hint)


def test_wrong_rank_and_wrong_static_shape() -> None:
    compiled = cute.compile(double, dynamic(array(4, 8)))
    with pytest.raises(ArgumentError, match="mX"):
        compiled(dynamic(array(8)))
    static = cute.compile(double, from_dlpack(array(4, 8)))
    with pytest.raises(ArgumentError, match="mX"):
        static(from_dlpack(array(4, 12)))


def test_misaligned_tensor_is_refused_where_alignment_is_promised() -> None:
    x = array(1, 65)[:, 1:]
    with pytest.raises(ArgumentError, match="not aligned as assumed") as e:
        from_dlpack(x, assumed_align=16)
    assert e.value.hint


def test_misaligned_tensor_without_a_promise_is_right() -> None:
    whole = array(4, 9)
    compiled = cute.compile(double, dynamic(array(4, 8)))
    x = whole[:, 1:]
    want = x * 2
    compiled(dynamic(x))
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("view", [lambda x: x[::2], lambda x: x[:, ::2], lambda x: x.T])
def test_non_contiguous_tensors_are_right(view: Any) -> None:
    x = view(array(16, 16))
    want = x * 2
    double(dynamic(x))
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0, 0)])
def test_zero_size_tensors_do_nothing(shape: tuple[int, int]) -> None:
    x = np.zeros(shape, np.float32)
    double(dynamic(x))
    double(from_dlpack(x))


def test_layout_that_does_not_divide_is_found() -> None:
    # The tile of the last row reaches past its end, and past the end of the array.
    with pytest.raises(OutOfBoundsError) as e:
        double(dynamic(array(2, 6)))
    assert "test_bad_input.py" in str(e.value.loc)


def test_tiler_of_too_high_rank_names_both_layouts() -> None:
    @cute.jit
    def divide(mX: cute.Tensor) -> None:
        cute.zipped_divide(mX, (1, 2, 3))

    with pytest.raises(LayoutError) as e:
        cute.compile(divide, from_dlpack(array(4, 8)))
    assert "(1,2,3)" in str(e.value) and "(4,8)" in str(e.value)
    assert "test_bad_input.py" in str(e.value.loc)


def test_more_than_two_to_the_31_elements(tmp_path: Any) -> None:
    file = tmp_path / "big"
    count = (1 << 31) + 64
    big = np.memmap(file, np.int8, "w+", shape=(1, count))  # sparse: the file takes no room
    big[0, -4:] = 3

    @cute.kernel
    def last(mX: cute.Tensor, at: opencute.Int64) -> None:
        mX[0, at] = mX[0, at] + 1

    @cute.jit
    def run(mX: cute.Tensor, at: opencute.Int64) -> None:
        last(mX, at).launch(grid=1, block=1)

    with pytest.raises(ArgumentError, match="32 bits"):
        run(dynamic(big), count - 1)
    tall = big.reshape(2, count // 2)
    run(dynamic(tall), count // 2 - 1)
    assert tall[0, -1] == 1

    @cute.kernel
    def corner(mX: cute.Tensor) -> None:
        m, n = mX.shape
        mX[m - 1, n - 1] = mX[m - 1, n - 1] + 1

    @cute.jit
    def run_corner(mX: cute.Tensor) -> None:
        corner(mX).launch(grid=1, block=1)

    run_corner(dynamic(tall))
    run_corner(from_dlpack(tall))
    assert tall[1, -1] == 5


def test_kernel_called_without_launch() -> None:
    @cute.jit
    def forgets(mX: cute.Tensor) -> None:
        double_kernel(cute.zipped_divide(mX, (1, 4)))

    with pytest.raises(LanguageError, match="never launched") as e:
        forgets(dynamic(array(4, 8)))
    assert e.value.code == "OC1130" and "launch(" in (e.value.hint or "")


def test_kernel_called_from_python() -> None:
    with pytest.raises(LanguageError, match="called from Python"):
        double_kernel(None)


def test_compiling_a_kernel() -> None:
    with pytest.raises(LanguageError, match="host function"):
        cute.compile(double_kernel, dynamic(array(4, 8)))


@pytest.mark.skipif(driver.available(), reason="this machine has a GPU")
def test_gpu_asked_for_and_none_there() -> None:
    with (
        KNOBS.override(target="cuda"),
        pytest.raises(MissingPieceError, match="no CUDA GPU") as e,
    ):
        double(dynamic(array(4, 8)))
    assert "doctor" in (e.value.hint or "")


def test_unknown_target() -> None:
    with KNOBS.override(target="tpu"), pytest.raises(ArgumentError, match="OPENCUTE_TARGET"):
        double(dynamic(array(4, 8)))


@pytest.mark.parametrize("block", [0, -1, 1025, (32, 64), "x", 1.5])
def test_impossible_blocks(block: Any) -> None:
    @cute.jit
    def run(mX: cute.Tensor) -> None:
        double_kernel(cute.zipped_divide(mX, (1, 4))).launch(grid=1, block=block)

    with pytest.raises((ArgumentError, TypeError)):
        run(dynamic(array(4, 8)))


@pytest.mark.parametrize(
    "argument", [None, "text", 3, [1, 2], object(), np.zeros(3, "U4"), np.zeros(3, complex)]
)
def test_arguments_that_are_no_tensors(argument: Any) -> None:
    with pytest.raises((ArgumentError, TypeError, LanguageError, AttributeError)):
        double(argument)


def test_read_only_array_is_an_input_but_no_output() -> None:
    x = array(4, 8)
    x.flags.writeable = False
    from opencute.base.errors import SimulationError

    with pytest.raises(SimulationError, match="read-only"):
        double(dynamic(x))


def test_too_many_and_too_few_arguments() -> None:
    compiled = cute.compile(double, dynamic(array(4, 8)))
    with pytest.raises(ArgumentError, match=r"takes 1 argument\b"):
        compiled(dynamic(array(4, 8)), dynamic(array(4, 8)))
    with pytest.raises(ArgumentError, match="misses argument 'mX'"):
        compiled()
    with pytest.raises(ArgumentError, match="no argument 'mY'"):
        compiled(mY=dynamic(array(4, 8)))


def test_unknown_options() -> None:
    with pytest.raises(ArgumentError, match="compile options"):
        cute.compile(double, dynamic(array(4, 8)), options="--make-it-fast")
    with pytest.raises(ArgumentError, match="not a compile option"):
        cute.compile[3]


def test_a_compiled_function_keeps_no_tensor_alive() -> None:
    import gc
    import weakref

    def run() -> tuple[Any, list[Any]]:
        wrapped = dynamic(array(4, 8))
        compiled = cute.compile(double, wrapped)
        compiled(wrapped)
        return compiled, [weakref.ref(wrapped)]

    compiled, refs = run()
    gc.collect()
    assert compiled is not None
    assert [r() for r in refs] == [None]


@cute.kernel
def touch_kernel(g: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < cute.size(g):
        g[tidx] = 1.0


def launching(**options: Any) -> Any:
    @cute.jit
    def host(g: cute.Tensor) -> None:
        touch_kernel(g).launch(**options)

    return host


def test_launches_that_no_device_takes_are_refused() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"min_blocks_per_mp": 100000}, "OC2123"),
        ({"min_blocks_per_mp": -1}, "OC2123"),
        ({"max_number_threads": 16}, "OC2112"),
        ({"max_number_threads": (64, 64, 1)}, "OC2112"),
        ({"cluster": (32, 1, 1)}, "OC2125"),
        ({"cluster": (2, 1, 1)}, "OC3012"),
        ({"smem": 1 << 20}, "OC2129"),
        ({"smem": -1}, "OC2129"),
        ({"preferred_smem_carveout": 101}, "OC2124"),
        ({"opt_level": 4}, "OC2139"),
    ]
    for options, code in bad:
        with pytest.raises(opencute.base.errors.OpenCuTeError, match=code):
            launching(grid=3, block=32, **options)(dynamic(array(4)))
    good = array(4)
    launching(grid=4, block=32, cluster=(2, 1, 1), smem=1024, min_blocks_per_mp=2)(dynamic(good))
    assert good.tolist() == [1, 1, 1, 1]


def test_a_tensor_has_no_truth_value() -> None:
    @cute.jit
    def host(g: cute.Tensor) -> None:
        if g:
            touch_kernel(g).launch(grid=1, block=32)

    with pytest.raises(LanguageError, match="neither true nor false"):
        host(dynamic(array(4)))


def test_a_result_is_not_lost_or_refused() -> None:
    @cute.jit
    def host(g: cute.Tensor, all_of_it: opencute.Constexpr) -> Any:
        touch_kernel(g).launch(grid=1, block=32)
        return (cute.size(g), g if all_of_it else 3)

    assert host(dynamic(array(4)), False) == (4, 3)
    with pytest.raises(LanguageError, match="returns something"):
        host(dynamic(array(4)), True)


def test_open_ended_arguments_of_a_compiled_function() -> None:
    @cute.jit
    def host(*tensors: cute.Tensor, scale: Any = None) -> None:
        for t in tensors:
            touch_kernel(t).launch(grid=1, block=32)

    a, b = array(4), array(4)
    compiled = cute.compile(host, dynamic(a), dynamic(b))
    compiled(dynamic(a), dynamic(b))
    assert a.tolist() == b.tolist() == [1, 1, 1, 1]
    with pytest.raises(ArgumentError, match="does not fit"):
        compiled(dynamic(a))


def test_a_bare_address_reaches_the_memory_behind_it() -> None:
    @cute.jit
    def host(p: cute.Pointer, n: opencute.Int32) -> None:
        touch_kernel(cute.make_tensor(p, cute.make_layout(n))).launch(grid=1, block=32)

    x = array(8)
    host(cute.make_ptr(opencute.Float32, x.ctypes.data, cute.AddressSpace.gmem), 4)
    assert x.tolist() == [1, 1, 1, 1, 4, 5, 6, 7]
    with pytest.raises(opencute.base.errors.OpenCuTeError):
        host(cute.make_ptr(opencute.Float32, 64, cute.AddressSpace.gmem), 4)


def test_a_changed_element_type_is_another_call() -> None:
    """The remembered call of an executor must not serve a tensor whose type has changed since."""
    compiled = cute.compile(double, dynamic(array(4, 8)))
    t = dynamic(array(4, 8))
    compiled(t)
    t.element_type = opencute.Int32
    with pytest.raises(ArgumentError, match="does not fit"):
        compiled(t)


def test_a_value_used_after_its_function() -> None:
    kept: list[Any] = []

    @cute.jit
    def host(n: opencute.Int32) -> None:
        kept.append(n)

    host(3)
    with pytest.raises(LanguageError, match="outside of any block"):
        kept[0] + 1


@pytest.mark.parametrize("prefix", ["größe", "9 x", "a.b-c"])
def test_letters_that_ptx_does_not_have(prefix: str) -> None:
    @cute.kernel
    def größe(a: cute.Tensor):
        a[0] = a[0] + 1

    @cute.jit
    def host(a: cute.Tensor):
        größe(a).launch(grid=1, block=1)

    options = {"options": "--gpu-arch sm_90a"}
    a = from_dlpack(np.zeros(1, np.int32))
    assert ".entry gr_u00f6__u00df_e_0(" in cute.compile(host, a, **options).__ptx__
    größe.set_name_prefix(prefix)
    host.set_name_prefix(prefix)
    assert cute.compile(host, a, **options).__cubin__
