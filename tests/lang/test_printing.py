# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What is printed, at run time and while tracing."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from compiled import on_device, on_host
from opencute import cute
from opencute.base.errors import TypeMismatchError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


def printed(capsys: pytest.CaptureFixture[str], body: Any, *args: Any) -> str:
    capsys.readouterr()
    on_host(body, *args)
    host = capsys.readouterr().out
    assert host == device_printed(capsys, body, *args)
    return plain(host)


def device_printed(capsys: pytest.CaptureFixture[str], body: Any, *args: Any) -> str:
    capsys.readouterr()
    on_device(body, *args)
    return capsys.readouterr().out


def plain(text: str) -> str:
    """Without addresses and alignments, which are what the arrays at hand have."""
    return re.sub(r"align<\d+>", "align<N>", re.sub("0x[0-9a-f]{16}", "PTR", text))


@pytest.mark.parametrize(
    ("args", "want"),
    [
        (("plain",), "plain\n"),
        (("100%",), "100%\n"),
        (("{} braces",), "{} braces\n"),
        (("%d|%5d|%-4d|%04d", 1, 2, 3, 4), "1|    2|3   |0004\n"),
        (("%f|%.2f|%8.3f", 1.5, 2.25, 3.0), "1.500000|2.25|   3.000\n"),
        (("%e|%g", 1.0, 0.5), "1.000000e+00|0.5\n"),
        (("%x %X %o %u", 255, 255, 8, 7), "ff FF 10 7\n"),
        (("%s and %%", "text"), "text and %\n"),
        (("%d %f", 2, 3), "2 3.000000\n"),
        (("{} {}", 1, 2.5), "1 2.500000\n"),
        (("{1} {0} {{x}}", 1, 2), "2 1 {x}\n"),
        (("{:.2f} {:4d} {1:x}", 1.5, 10), "1.50   10 a\n"),
        (("{}", (1, (2, None))), "(1,(2,_))\n"),
        (("{} 5%", True), "1 5%\n"),
        (("{}", cutlass.Float16), "Float16\n"),
        (("line\n",), "line\n"),
        (("",), "\n"),
        (("%p %c", 4096, 65), "0x1000 A\n"),
        ((3,), "3\n"),
    ],
)  # fmt: skip
def test_printf_of_static_values(args: Any, want: str, capsys: Any) -> None:
    assert printed(capsys, lambda: cute.printf(*args)) == want


def test_printf_of_run_time_values(capsys: Any) -> None:
    x = np.array([7, -3], np.int32)
    h = np.array([1.5, -0.25]).astype(ml_dtypes.bfloat16)
    w = np.array([1 << 40, 1], np.uint64)

    def body(t: Any, h: Any, w: Any) -> None:
        cute.printf("{} {} %d", t[0], h[1])
        cute.printf("%d %5.2f %lld %llu %i", t[1], h[0], w[0], w[0], t[0] > 0)
        cute.printf("{} {} {}", w[0], t.load(), (t[0], 1))
        cute.printf(t[0], "and", h[0])
        cute.printf("{}", cute.make_layout((t[0], 2)))
        cute.printf("{:+d}|{:.1f}|{}", t[0], h[0], t[1] < 0)
        cute.printf("%d", t[0], end="")
        cute.printf("")

    want = (
        "7 -0.250000 %d\n-3  1.50 1099511627776 1099511627776 1\n1099511627776 (7,-3) (7,1)\n"
        "7 and 1.500000\n(7,2):(1,7)\n+7|1.5|1\n7\n"
    )
    assert printed(capsys, body, x, h, w) == want


def test_printf_of_tensors_pointers_and_coordinates(capsys: Any) -> None:
    def body(t: Any) -> None:
        cute.printf("{}", t)
        cute.printf("{}", t.iterator)
        cute.printf("{}", cute.make_identity_tensor((2, 3))[1, 2])
        cute.printf("{}", cute.make_composed_layout(cute.make_swizzle(1, 0, 1), 0, t.layout))

    got = printed(capsys, body, np.zeros((2, 2), np.float32)).splitlines()
    assert got[0] == "tensor(raw_ptr(PTR: f32, gmem, align<N>) o (2,2):(2,1))"
    assert got[1:3] == ["raw_ptr(PTR: f32, gmem, align<N>)", "(1,2)"]
    assert got[3].endswith("o 0 o (2,2):(2,1)")


def test_print_shows_static_values_and_question_marks(capsys: Any) -> None:
    @cute.jit
    def host(a: cutlass.Int32, b: cutlass.Constexpr[int]):
        print(">>>", b, a, type(a), type(b))
        layout = cute.make_layout((a, b))
        print(">>>", layout, f"{a} {layout}")
        cute.printf(">?? {} {}", a, layout)

    host(cutlass.Int32(8), 2)
    assert capsys.readouterr().out == (
        ">>> 2 ? Int32 <class 'int'>\n>>> (?,2):(1,?) ? (?,2):(1,?)\n>?? 8 (8,2):(1,8)\n"
    )


def test_print_of_a_tensor_shows_its_type(capsys: Any) -> None:
    on_device(lambda t: print(t, "|", t.load()), np.zeros((4, 3), np.float32))
    tensor, vector = capsys.readouterr().out.split(" | ")
    assert re.sub(r", align<\d+>", "", tensor) == "tensor<ptr<f32, gmem> o (4,3):(3,1)>"
    assert vector == "tensor_value<vector<12xf32> o (4,3)>\n"


def test_print_tensor_of_three_modes(capsys: Any) -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    got = printed(capsys, lambda t: cute.print_tensor(t), data)
    head, body = got.split("data=\n")
    assert re.fullmatch(
        r"tensor\(raw_ptr\(PTR: f32, gmem, align<N>\) o \(4,3,2\):\(6,2,1\), ", head
    )
    assert body == (
        "       [[[ 0.000000,  2.000000,  4.000000, ],\n"
        "         [ 6.000000,  8.000000,  10.000000, ],\n"
        "         [ 12.000000,  14.000000,  16.000000, ],\n"
        "         [ 18.000000,  20.000000,  22.000000, ]],\n"
        "\n"
        "        [[ 1.000000,  3.000000,  5.000000, ],\n"
        "         [ 7.000000,  9.000000,  11.000000, ],\n"
        "         [ 13.000000,  15.000000,  17.000000, ],\n"
        "         [ 19.000000,  21.000000,  23.000000, ]]])\n"
    )


def test_print_tensor_of_one_and_two_modes_and_signs(capsys: Any) -> None:
    line = printed(capsys, lambda t: cute.print_tensor(t), np.array([0.5, -3], np.float32))
    assert line.endswith("o (2):(1), data=\n       [ 0.500000, ],\n       [-3.000000, ])\n")
    ints = np.array([[1, -2, 3], [4, 5, 6]], np.int8)
    table = printed(capsys, lambda t: cute.print_tensor(t), ints)
    assert table.endswith("data=\n       [[ 1, -2,  3, ],\n        [ 4,  5,  6, ]])\n")


def test_print_tensor_verbose(capsys: Any) -> None:
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    got = printed(capsys, lambda t: cute.print_tensor(t, verbose=True), data)
    assert got.split("data= (")[1] == (
        "\n\t(0,0)= 0.000000\n\t(0,1)= 1.000000\n\t(1,0)= 2.000000\n\t(1,1)= 3.000000\n"
        "\t(2,0)= 4.000000\n\t(2,1)= 5.000000\n)\n"
    )


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.int64, np.uint8, np.bool_, np.float64]
)
def test_print_tensor_of_every_type(dtype: Any, capsys: Any) -> None:
    got = printed(capsys, lambda t: cute.print_tensor(t), np.array([1, 0]).astype(dtype))
    ones = re.findall(r"\[ *([\d.]+), \]", got)
    assert [float(v) for v in ones] == [1, 0]


def test_print_tensor_of_registers_vectors_views_and_coordinates(capsys: Any) -> None:
    def body(t: Any) -> None:
        r = cute.make_rmem_tensor((2, 2), cutlass.Float32)
        r.fill(1)
        cute.print_tensor(r)
        cute.print_tensor(t.load() * 2)
        cute.print_tensor(t[None, 1])
        cute.print_tensor(cute.make_identity_tensor((2, 2)))

    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    got = device_printed(capsys, body, x)
    assert "rmem" in got and "[[ 1.000000,  1.000000, ]" in got
    assert "[[ 0.000000,  2.000000, ]" in got and "[ 3.000000, ])" in got
    assert "[[ (0,0),  (0,1), ],\n        [ (1,0),  (1,1), ]])" in got


def test_print_tensor_larger_than_one_printf(capsys: Any) -> None:
    data = np.arange(100, dtype=np.int32).reshape(10, 10)
    got = printed(capsys, lambda t: cute.print_tensor(t), data)
    assert [int(v) for v in re.findall(r" (\d+),", got.split("data=")[1])] == list(range(100))


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 2), (1, 1)])
def test_print_tensor_of_a_run_time_shape(
    shape: Any, verbose: bool, where: str, capsys: Any
) -> None:
    @cute.kernel
    def kernel(t: cute.Tensor):
        cute.print_tensor(t, verbose=verbose)

    @cute.jit
    def host(t: cute.Tensor):
        if cutlass.const_expr(where == "host"):
            cute.print_tensor(t, verbose=verbose)
        else:
            kernel(t).launch(grid=1, block=1)

    data = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) + 100
    host(from_dlpack(data).mark_layout_dynamic(leading_dim=len(shape) - 1))
    got = capsys.readouterr().out
    found = [int(v) for v in re.findall(r"(?:= |[[ ])(1\d\d)\b", got.split("data=")[1])]
    want = data if verbose or data.ndim < 3 else np.moveaxis(data, 2, 0)
    assert found == want.ravel().tolist()
    if verbose:
        assert f"({','.join(str(n - 1) for n in shape)})= {data.max()}" in got


@pytest.mark.parametrize("fmt", ["{}", "{} %d", "{1}"])
def test_arguments_that_no_brace_prints_are_refused(fmt: str, capsys: Any) -> None:
    with pytest.raises(TypeMismatchError, match="more arguments than places"):
        printed(capsys, lambda: cute.printf(fmt, 1, 2))


@pytest.mark.parametrize(
    ("fmt", "args", "why"),
    [
        ("%d", (2.5,), "a float is printed as an integer"),
        ("{:d}", (2.5,), "a float is printed as an integer"),
        ("%x", (cutlass.Float16(1.0),), "a float is printed as an integer"),
        ("%d %y", (1,), "no such conversion"),
        ("%*d", (1,), "no such conversion"),
        ("%d%", (1,), "no such conversion"),
        ("%d %d", (1,), "more conversions than arguments"),
        ("%d", (1, 2), "more arguments than conversions"),
        ("{} {}", (1,), "more places than arguments"),
    ],
)
def test_formats_that_do_not_fit_are_errors_of_the_trace(fmt: str, args: Any, why: str) -> None:
    with pytest.raises(TypeMismatchError, match=f"(?s)OC1240.*{why}"):
        on_device(lambda: cute.printf(fmt, *args))


def test_more_values_than_one_call_takes(capsys: Any) -> None:
    x = np.arange(70, dtype=np.int32)

    def body(t: Any) -> None:
        cute.printf(" ".join(["%d"] * 70) + " 100%%", *[t[i] for i in range(70)])
        cute.printf("{}", t.load())

    want = " ".join(map(str, range(70))) + " 100%\n(" + ",".join(map(str, range(70))) + ")\n"
    assert printed(capsys, body, x) == want


NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu,
          ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e3m4]  # fmt: skip


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_in_memory(dtype: Any, capsys: Any) -> None:
    """Also issue 3002 of the field: a crash on f8."""
    x = np.array([[0.5, 2.0], [1.0, 4.0]]).astype(dtype)
    got = printed(capsys, lambda t: (cute.print_tensor(t), cute.printf("{} %f", t[0, 1])), x[:1])
    assert "[[ 0.500000,  2.000000, ]]" in got and got.endswith("2.000000 %f\n")


@pytest.mark.parametrize("cls", [cutlass.Float4E2M1FN, cutlass.Float6E2M3FN, cutlass.Float6E3M2FN,
                                 cutlass.Int4, cutlass.Uint4])  # fmt: skip
def test_elements_narrower_than_a_byte(cls: Any, capsys: Any) -> None:
    """Elements are read and written one by one, in every order of the layout."""

    def body() -> None:
        for layout in (cute.make_layout((2, 3), stride=(3, 1)), cute.make_layout((2, 3))):
            t = cute.make_rmem_tensor(layout, cls)
            for i in range(2):
                for j in range(3):
                    t[i, j] = cls(i + 2 * j % 5) if cls.is_integer else cls(float(i + j))
            t[1, 1] = cls(4)
            cute.print_tensor(t)

    got = device_printed(capsys, body)
    rows = re.findall(r"\[ *(?:\[)? ?([-\d., ]+), \]", got)
    numbers = [[float(v) for v in r.split(",")] for r in rows]
    want = [[0, 2, 4], [1, 4, 5]] if cls.is_integer else [[0, 1, 2], [1, 4, 3]]
    assert numbers == want * 2


def test_swizzled_tensors(capsys: Any) -> None:
    """Issue 2695 of the field: an abort on a swizzled tensor."""
    x = np.arange(32, dtype=np.float32)

    def body(t: Any) -> None:
        swizzled = cute.make_composed_layout(
            cute.make_swizzle(1, 0, 2), 0, cute.make_layout((8, 4))
        )
        cute.print_tensor(cute.make_tensor(t.iterator, swizzled))

    got = device_printed(capsys, body, x)
    rows = [[float(v) for v in r.split(",")[:-1]] for r in re.findall(r"\[ ([-\d., ]+)\]", got)]
    want = [[float(k ^ (k >> 2 & 1)) for k in range(i, 32, 8)] for i in range(8)]
    assert rows == want


def test_doubles_are_not_cut(capsys: Any) -> None:
    x = np.array([1.0000000001, 1e300])
    got = printed(
        capsys, lambda t: cute.printf("%.10f {:.3e}".replace("{:.3e}", "%.3e"), t[0], t[1]), x
    )
    assert got == "1.0000000001 1.000e+300\n"


def test_pointers(capsys: Any) -> None:
    got = device_printed(capsys, lambda t: cute.printf("%p", t.iterator), np.zeros(2))
    assert re.fullmatch(r"0x[0-9a-f]+\n", got)


def test_vectors_of_truth_values(capsys: Any) -> None:
    x = np.array([1.0, -1.0], np.float32)
    got = printed(capsys, lambda t: (cute.print_tensor(t.load() > 0), cute.printf(t.load() > 0)), x)
    assert got.endswith("data=\n        [ 1, ],\n        [ 0, ])\n(1,0)\n") or "[ 1, ]" in got
