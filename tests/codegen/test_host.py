# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Host functions run natively here, against a stand-in for the driver that records launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from codegen.samples import relu_2d
from opencute.arch.target import target
from opencute.base.errors import ToolchainError
from opencute.codegen.host import TOO_MUCH_SMEM, compile_host_text
from opencute.dialects import arith, cute, func, gpu, llvm
from opencute.ir.attributes import UNIT, IntAttr
from opencute.ir.builder import insert_at
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32, I32, I64
from opencute.native.jit import compile_host
from opencute.passes.pipelines import run_host_passes

pytestmark = pytest.mark.t1

PTR = cute.PtrType(F16, "gmem", 16)
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


def const(v: int) -> Value:
    return arith.constant(v, I32)


def with_host(inputs: list[Any], body: Callable[..., None]) -> Op:
    module = relu_2d(F16, 8)
    with insert_at(module.regions[0].block):
        _, block = func.func("host", inputs)
        with insert_at(block):
            body(*block.args)
            func.return_()
    return module


class Driver:
    """Records what cuLaunchKernelEx gets."""

    def __init__(self, status: int = 0, types: tuple[Any, ...] = ()) -> None:
        self.calls: list[dict[str, Any]] = []
        self.status = status
        self.types = types
        self.function = LAUNCH(self._launch)

    def _launch(self, config: int, function: int, params: int, extra: int | None) -> int:
        words = (ctypes.c_uint32 * 14).from_address(config)
        quads = (ctypes.c_uint64 * 7).from_address(config)
        pointers = (ctypes.c_void_p * max(len(self.types), 1)).from_address(params)
        attributes = []
        for i in range(words[12]):
            entry = (ctypes.c_uint32 * 18).from_address(quads[5] + 72 * i)
            attributes.append((entry[0], tuple(entry[2:5])))
        self.calls.append({
            "grid": tuple(words[0:3]), "block": tuple(words[3:6]), "smem": words[6],
            "stream": quads[4], "function": function, "attributes": attributes, "extra": extra,
            "args": [t.from_address(p).value for t, p in zip(self.types, pointers, strict=False)],
        })  # fmt: skip
        return self.status

    def call(self, module: Op, *args: int) -> int:
        run_host_passes(module, target("sm_90a"))
        code = compile_host_text(module)
        symbols = {"cuLaunchKernelEx": ctypes.cast(self.function, ctypes.c_void_p).value or 0}
        with compile_host(code.llvm_ir, symbols) as native:
            functions = (ctypes.c_uint64 * len(code.launches))(
                *range(100, 100 + len(code.launches))
            )
            assert code.slots == len(args) + 2
            slots = (ctypes.c_uint64 * code.slots)(77, ctypes.addressof(functions), *args)
            entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(native.address(code.name))
            return int(entry(ctypes.addressof(slots)))


def test_grid_is_computed_and_arguments_passed() -> None:
    def body(a: Value, c: Value, m: Value, n: Value) -> None:
        total = arith.binary("muli", m, n)
        blocks = arith.binary("ceildivsi", total, const(256))
        wide = arith.cast("extsi", n, I64)
        args = [a, c, m, n, wide, wide]
        gpu.launch_func(
            "relu", [blocks, const(1), const(1)], [const(256), const(1), const(1)], args
        )

    c = ctypes
    driver = Driver(types=(c.c_uint64, c.c_uint64, c.c_int32, c.c_int32, c.c_int64, c.c_int64))
    assert driver.call(with_host([PTR, PTR, I32, I32], body), 1 << 40, 64, 100, 30) == 0
    (call,) = driver.calls
    assert call["grid"] == (12, 1, 1) and call["block"] == (256, 1, 1)
    assert call["args"] == [1 << 40, 64, 100, 30, 30, 30]
    assert call["stream"] == 77 and call["function"] == 100
    assert call["smem"] == 0 and call["attributes"] == [] and call["extra"] is None


def test_launch_attributes() -> None:
    def body(stream: Value, n: Value) -> None:
        one = const(1)
        gpu.launch_func(
            "relu", [n, one, one], [const(64), one, one], [],
            cluster=[const(2), one, one], smem=const(4096), stream=stream,
            attributes={"cute.use_pdl": UNIT, "cute.cooperative": UNIT},
        )  # fmt: skip

    driver = Driver()
    assert driver.call(with_host([llvm.LLVMPointerType(), I32], body), 55, 4) == 0
    (call,) = driver.calls
    assert call["stream"] == 55 and call["smem"] == 4096 and call["grid"] == (4, 1, 1)
    assert [a[0] for a in call["attributes"]] == [4, 6, 2]
    assert call["attributes"][0][1] == (2, 1, 1) and call["attributes"][1][1][0] == 1


def test_an_empty_grid_is_not_launched() -> None:
    def body(n: Value) -> None:
        for extent in (n, const(3)):
            gpu.launch_func("relu", [extent, const(1), const(1)], [const(32)] + [const(1)] * 2, [])

    driver = Driver()
    assert driver.call(with_host([I32], body), 0) == 0
    assert [c["grid"] for c in driver.calls] == [(3, 1, 1)]
    assert driver.calls[0]["function"] == 101


def test_the_first_error_is_returned() -> None:
    def body(n: Value) -> None:
        for _ in range(2):
            gpu.launch_func("relu", [n, const(1), const(1)], [const(32)] + [const(1)] * 2, [])

    driver = Driver(status=9)
    assert driver.call(with_host([I32], body), 1) == 9
    assert len(driver.calls) == 1


def test_float_arguments_and_conversions() -> None:
    def body(x: Value) -> None:
        n = arith.cast("fptosi", x, I32)
        gpu.launch_func("relu", [n, const(1), const(1)], [const(32)] + [const(1)] * 2, [x])

    driver = Driver(types=(ctypes.c_float,))
    bits = int.from_bytes(bytes(ctypes.c_float(2.5)), "little")
    assert driver.call(with_host([F32], body), bits) == 0
    assert driver.calls[0]["grid"] == (2, 1, 1) and driver.calls[0]["args"] == [2.5]


def test_a_missing_function_is_named() -> None:
    with pytest.raises(ToolchainError, match="OC1526"):
        compile_host_text(relu_2d(F16, 8), "nothing")


@pytest.mark.parametrize("asked", [0, 4096, 227 * 1024, 227 * 1024 + 1, 1 << 29, 1 << 40, -1])
def test_an_amount_of_shared_memory_is_checked_before_the_launch(asked: int) -> None:
    limit = 227 * 1024

    def body(n: Value) -> None:
        attributes = {"cute.smem_limit": IntAttr(limit, I64), "cute.carveout": IntAttr(50, I64)}
        gpu.launch_func("relu", [const(1)] * 3, [const(32)] * 3, (), smem=n, attributes=attributes)

    driver = Driver()
    status = driver.call(with_host([I64], body), asked & ((1 << 64) - 1))
    if 0 <= asked <= limit:
        assert status == 0 and driver.calls[0]["smem"] == asked
        assert driver.calls[0]["attributes"][0][0] == 14
        assert driver.calls[0]["attributes"][0][1][0] == 50
    else:
        assert driver.calls == []
        assert status & TOO_MUCH_SMEM
        assert status & (TOO_MUCH_SMEM - 1) == min(asked % (1 << 64), TOO_MUCH_SMEM - 1)


@pytest.mark.parametrize(("a", "b", "status", "want"), [
    (7, 2, 0, 3), (7, 0, 710, None), (-(1 << 31), -1, 0, -(1 << 31)),
])  # fmt: skip
def test_no_division_ends_the_process(
    a: int, b: int, status: int, want: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    def body(x: Value, y: Value) -> None:
        one = const(1)
        q = arith.binary("divsi", x, y)
        gpu.launch_func("relu", [one, one, one], [const(32), one, one], [q])

    driver = Driver(types=(ctypes.c_int32,))
    assert driver.call(with_host([I32, I32], body), a, b) == status
    assert [c["args"] for c in driver.calls] == ([] if want is None else [[want]])
    assert ("Division by zero" in capfd.readouterr().out) == (b == 0)
