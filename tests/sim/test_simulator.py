# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions, launches and kernels end to end."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from opencute.base.errors import ArgumentError, SimulationError
from opencute.dialects import arith, builtin, cute, func, gpu, ptx, scf
from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Op
from opencute.ir.types import F16, F32, I1, I32, I64, VectorType
from opencute.sim import Buffer, Simulator
from sim.building import add, const, function_module, kernel_module, launch, mul, ptr, thread

pytestmark = pytest.mark.t0


def relu_module() -> Op:
    """Eight f16 per thread, with a guard for the ragged end."""

    def body(src: Any, dst: Any, total: Any) -> None:
        index = thread()
        then, block = new_block()
        with insert_at(block):
            offset = arith.cast("extsi", mul(index, const(8)), I64)
            tile = LayoutAttr((1, 8), (8, 1))
            a = cute.tile_load(cute.ptr_add(src, offset, 16), tile)
            zero = arith.constant(0.0, a.type)
            out = arith.select(arith.cmpf("ogt", a, zero), a, zero)
            cute.tile_store(out, cute.ptr_add(dst, offset, 16), tile)
            scf.yield_()
        orelse, block = new_block()
        with insert_at(block):
            scf.yield_()
        scf.if_(arith.cmpi("slt", index, total), (), then, orelse)

    return kernel_module([ptr(F16), ptr(F16), I32], body)


@pytest.mark.parametrize("n", [1, 33, 1000])
def test_relu_with_a_ragged_tail(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(n * 8).astype(np.float16)
    y = np.full_like(x, 7)
    sim = launch(relu_module(), -(-n // 64), 64, x, y, n)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    assert sim.report.launches == 1
    assert sim.report.read_bytes["gmem"] == x.nbytes
    assert sim.report.accesses["write", "gmem", 16] == n


def host_module() -> Op:
    """A host function that launches a kernel which adds 1 to each element."""
    module, top = builtin.module()
    with insert_at(top):
        _, entry = func.func("host", [ptr(I32), I32], [I32])
        with insert_at(entry):
            p, n = entry.args
            one = const(1)
            block = const(32)
            blocks = arith.binary("ceildivsi", n, block)
            gpu.launch_func("inc", (blocks, one, one), (block, one, one), (p, n))
            func.return_([blocks])
        _, kernels = gpu.gpu_module()
        with insert_at(kernels):
            _, entry = gpu.gpu_func("inc", [ptr(I32), I32])
        with insert_at(entry):
            p, n = entry.args
            then, inner = new_block()
            with insert_at(inner):
                at = cute.ptr_add(p, thread(), 4)
                cute.store(add(cute.load(at), const(1)), at)
                scf.yield_()
            orelse, inner = new_block()
            with insert_at(inner):
                scf.yield_()
            scf.if_(arith.cmpi("slt", thread(), n), (), then, orelse)
            gpu.return_()
    return module


def test_host_function_launches_and_returns() -> None:
    x = np.arange(70, dtype=np.int32)
    sim = Simulator()
    out = sim.run_host(host_module(), "host", [Buffer.from_numpy(x).pointer(), 70])
    assert out == [3]
    np.testing.assert_array_equal(x, np.arange(70) + 1)


def test_launch_hook_gets_the_launch_instead() -> None:
    x = np.arange(70, dtype=np.int32)
    pointer = Buffer.from_numpy(x).pointer()
    seen: list[Any] = []
    Simulator().run_host(
        host_module(), "host", [pointer, 70], launch=lambda *args: seen.append(args)
    )
    assert seen == [("inc", (3, 1, 1), (32, 1, 1), None, 0, None, [pointer, 70], {})]
    np.testing.assert_array_equal(x, np.arange(70))


def test_pointer_argument_with_an_offset() -> None:
    x = np.arange(70, dtype=np.int32)
    Simulator().run_host(host_module(), "host", [Buffer.from_numpy(x).pointer(40), 60])
    np.testing.assert_array_equal(x, np.arange(70) + (np.arange(70) >= 10))


def test_empty_grid_runs_nothing_and_a_negative_one_is_an_error() -> None:
    x = np.arange(4, dtype=np.int32)
    pointer = Buffer.from_numpy(x).pointer()
    sim = Simulator()
    sim.run_host(host_module(), "host", [pointer, 0])
    assert x.tolist() == [0, 1, 2, 3] and sim.report.launches == 0
    with pytest.raises(SimulationError, match="OC3002"):
        sim.run_host(host_module(), "host", [pointer, -100])


def test_block_limits() -> None:
    module = kernel_module([], lambda: None)
    with pytest.raises(SimulationError, match="2048 threads"):
        Simulator().run_kernel(module, "kernel", (1,), (1024, 2), [])


def test_wrong_number_of_arguments_and_names() -> None:
    module = host_module()
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        Simulator().run_host(module, "host", [])
    with pytest.raises(ArgumentError, match="no function 'nothing'"):
        Simulator().run_host(module, "nothing", [])


def test_functions_call_functions() -> None:
    module, top = builtin.module()
    with insert_at(top):
        _, entry = func.func("square", [I32], [I32, I1])
        with insert_at(entry):
            (a,) = entry.args
            func.return_([mul(a, a), arith.cmpi("slt", a, const(0))])
        _, entry = func.func("f", [I32], [I32, I1])
        with insert_at(entry):
            s, neg = func.call("square", [entry.args[0]], [I32, I1])
            func.return_([add(s, const(1)), neg])
    assert Simulator().run_function(module, "f", [-5]) == [26, True]


def test_recursion_is_an_error() -> None:
    module, top = builtin.module()
    with insert_at(top):
        _, entry = func.func("f", [], [])
        with insert_at(entry):
            func.call("f", [], [])
            func.return_()
    with pytest.raises(SimulationError, match="OC3006"):
        Simulator().run_function(module, "f", [])


def test_unknown_operation_names_itself() -> None:
    def body() -> None:
        from opencute.ir.builder import build

        build("test.strange")

    with pytest.raises(SimulationError, match=r"no rule for test\.strange"):
        launch(kernel_module([], body), 1, 1)


def test_special_registers() -> None:
    names = [f"{n}.{a}" for n in ("tid", "ntid", "ctaid", "nctaid") for a in "xyz"]
    names += ["laneid", "warpid"]

    def body(out: Any) -> None:
        linear = const(0)
        for kind, extent in (("ctaid", "nctaid"), ("tid", "ntid")):
            for axis in "zyx":
                linear = add(mul(linear, ptx.sreg(f"{extent}.{axis}")), ptx.sreg(f"{kind}.{axis}"))
        for i, name in enumerate(names):
            at = cute.ptr_add(out, add(mul(linear, const(len(names))), const(i)), 4)
            cute.store(ptx.sreg(name), at)

    grid, block = (2, 3, 2), (4, 2, 5)
    out = np.zeros((2, 3, 2, 5, 2, 4, len(names)), np.int32)
    pointer = Buffer.from_numpy(out).pointer()
    Simulator().run_kernel(kernel_module([ptr(I32)], body), "kernel", grid, block, [pointer])
    bz, by, bx, tz, ty, tx = np.indices(out.shape[:-1])
    linear = tx + 4 * (ty + 2 * tz)
    expected = [tx, ty, tz, 4, 2, 5, bx, by, bz, 2, 3, 2, linear % 32, linear // 32]
    for i, want in enumerate(expected):
        np.testing.assert_array_equal(out[..., i], want, err_msg=names[i])


def test_prints_come_block_by_block_and_thread_by_thread() -> None:
    def body() -> None:
        cute.print_("b%d t%d\n", (ptx.sreg("ctaid.x"), ptx.sreg("tid.x")))
        cute.print_("again\n", ())

    out = io.StringIO()
    launch(kernel_module([], body), 2, 2, sim=Simulator(out=out))
    want = [f"b{b} t{t}\nagain\n" for b in range(2) for t in range(2)]
    assert out.getvalue() == "".join(want)


def test_what_was_printed_before_a_fault_is_shown() -> None:
    def body(p: Any) -> None:
        cute.print_("hello\n", ())
        cute.load(cute.ptr_add(p, const(100), 4))

    out = io.StringIO()
    with pytest.raises(SimulationError):
        launch(
            kernel_module([ptr(F32)], body), 1, 1, np.zeros(4, np.float32), sim=Simulator(out=out)
        )
    assert out.getvalue() == "hello\n"


def test_vector_arguments_and_results() -> None:
    type = VectorType(4, F32)
    module = function_module([type], [type], lambda v: [arith.binary("addf", v, v)])
    (out,) = Simulator().run_host(module, "f", [[1, 2, 3, 4]])
    np.testing.assert_array_equal(out, np.array([2, 4, 6, 8], np.float32))


def test_dynamic_layout_of_a_tile() -> None:
    """Rows of 4, a dynamic number of elements apart."""

    def body(src: Any, dst: Any, pitch: Any) -> None:
        tile = LayoutAttr((4, 2), (1, Dyn(64)))
        v = cute.tile_load(cute.ptr_add(src, mul(thread(), const(4)), 4), tile, (pitch,))
        cute.tile_store(v, cute.ptr_add(dst, mul(thread(), const(8)), 4), LayoutAttr((8,), (1,)))

    x = np.arange(2 * 20, dtype=np.int32).reshape(2, 20)
    y = np.zeros((5, 2, 4), np.int32)
    launch(kernel_module([ptr(I32, 4), ptr(I32, 4), I64], body), 1, 5, x, y, 20)
    np.testing.assert_array_equal(y, x.reshape(2, 5, 4).swapaxes(0, 1))
