# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From the cute IR to machine code, for every kind of target; what the SASS must look like."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.compiling import assemble, to_ptx
from codegen.samples import (
    elementwise_add,
    matvec_fragments,
    printing,
    relu_2d,
    unary_tile,
    while_loop,
)
from opencute.codegen.device import DeviceCode
from opencute.codegen.sass import Sass, read_sass
from opencute.dialects import arith, cute, math
from opencute.ir.core import Op, Value
from opencute.ir.types import BF16, F16, F32, F64, I8, I32, I64, FloatType, VectorType

pytestmark = pytest.mark.t1

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")


def build(module: Op, name: str = "sm_90a") -> tuple[DeviceCode, Sass]:
    code = assemble(module, name)
    for f in code.report.functions:
        assert f.spill_loads == f.spill_stores == 0
    return code, read_sass(code.cubin)


def no_local_memory(code: DeviceCode, sass: Sass) -> None:
    assert sass.local_memory == 0
    assert all(f.stack == 0 for f in code.report.functions)


# Disassembling takes most of a second: each type and each target once, not their product.
@pytest.mark.parametrize(
    ("element", "name"), [*((F16, n) for n in TARGETS), (F32, "sm_90a"), (BF16, "sm_80")], ids=str
)
def test_relu_is_one_wide_load_and_store(element: Any, name: str) -> None:
    code, sass = build(relu_2d(element, 128 // element.width), name)
    no_local_memory(code, sass)
    assert sass.count("LDG.E") == sass.count("LDG.E.128") == 1
    assert sass.count("STG.E") == sass.count("STG.E.128") == 1
    if element != F32:
        assert sum(n for op, n in sass.opcodes.items() if op.startswith(("HMNMX2", "VHMNMX"))) == 4


@pytest.mark.parametrize(
    ("element", "op", "name"),
    [
        (F16, "addf", "sm_90a"),
        (F16, "mulf", "sm_100a"),
        (BF16, "addf", "sm_80"),
        (BF16, "mulf", "sm_80"),
        (BF16, "addf", "sm_90a"),
        (BF16, "mulf", "sm_120a"),
    ],
    ids=str,
)
def test_narrow_arithmetic_is_packed(element: Any, op: str, name: str) -> None:
    code, sass = build(unary_tile(element, 8, lambda x: arith.binary(op, x, x)), name)
    no_local_memory(code, sass)
    # ptxas also writes constants with HFMA2 of RZ.
    packed = [
        i
        for i in sass.instructions
        if i.startswith(("HADD2", "HMUL2", "HFMA2")) and "-RZ, RZ" not in i
    ]
    assert len(packed) == 4
    if element == BF16:
        assert all("BF16" in i for i in packed)
    assert not any(o.startswith(("F2F", "FADD", "FMUL")) for o in sass.opcodes)


def test_blackwell_has_256_bit_accesses() -> None:
    code, sass = build(unary_tile(F32, 8, arith.negf, align=32), "sm_100a")
    no_local_memory(code, sass)
    assert sum(n for op, n in sass.opcodes.items() if op.startswith("LDG") and "256" in op) == 1
    assert sum(n for op, n in sass.opcodes.items() if op.startswith("STG") and "256" in op) == 1


@pytest.mark.parametrize(("align", "width"), [(16, ".v4"), (8, ".v2"), (4, "")])
def test_accesses_follow_alignment(align: int, width: str) -> None:
    code = to_ptx(unary_tile(F32, 4, arith.negf, align=align))
    n = 16 // align
    assert code.ptx.count("ld.global") == code.ptx.count(f"ld.global{width}.b32") == n
    assert code.ptx.count("st.global") == code.ptx.count(f"st.global{width}.b32") == n


def test_elementwise_add() -> None:
    """Predicates per element, unknown alignment: wide accesses behind a test, else masked ones."""
    code, sass = build(elementwise_add(F32, 4))
    no_local_memory(code, sass)
    assert sass.count("LDG.E.128") == 8 and sass.count("STG.E.128") == 4
    assert sass.opcodes["LDG.E"] == 32 and sass.opcodes["STG.E"] == 16
    masked = [i for i in sass.instructions if i.startswith("@") and "LDG.E R" in i]
    assert len(masked) == 32


def test_fragments_in_loops_are_registers() -> None:
    code, sass = build(matvec_fragments(8))
    no_local_memory(code, sass)
    assert sass.count("FFMA") == 8


def test_contraction_can_be_switched_off() -> None:
    module = matvec_fragments(8)
    kernel = module.regions[0].block.ops[0].regions[0].block.ops[0]
    from opencute.ir.attributes import UNIT

    kernel.attributes["cute.no_contract"] = UNIT
    _, sass = build(module)
    assert sass.count("FFMA") == 0 and sass.count("FMUL") == 8 and sass.count("FADD") == 8


def test_sums_of_products_use_fma() -> None:
    def poly(x: Value) -> Value:
        return arith.binary("addf", arith.binary("mulf", x, x), x)

    for element, text in ((F32, "f32"), (F16, "f16x2"), (BF16, "bf16x2"), (F64, "f64")):
        code = to_ptx(unary_tile(element, 4, poly))
        n = 4 if element.width >= 32 else 2
        assert code.ptx.count(f"fma.rn.{text}") == n
        assert "mul.rn" not in code.ptx and "add.rn" not in code.ptx


def test_while_loop() -> None:
    code, sass = build(while_loop())
    no_local_memory(code, sass)
    assert any(i.startswith("@") and "BRA" in i for i in sass.instructions)


def test_print_calls_vprintf() -> None:
    code = assemble(printing())
    assert "vprintf" in code.ptx and "%d %f %lld" in code.llvm_ir


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "rsqrt", "sqrt", "erf", "floor"])
def test_functions_are_inlined(name: str) -> None:
    for element in (F32, F16, F64):
        for fast in (False, True):
            module = unary_tile(element, 2, lambda x, f=fast: math.unary(name, x, fast=f))
            assert "call.uni" not in to_ptx(module).ptx


@pytest.mark.parametrize("sm", TARGETS)
def test_functions_assemble(sm: str) -> None:
    def many(x: Value) -> Value:
        for name in ("exp", "log", "sin", "tanh", "floor", "round", "expm1"):
            x = math.unary(name, x)
        for name in ("exp2", "tan", "cos", "log10"):
            x = math.unary(name, x, fast=True)
        return math.binary("powf", x, arith.binary("remf", x, x))

    code = assemble(unary_tile(BF16, 2, many), sm)
    assert code.cubin.startswith(b"\x7fELF")


def test_fast_functions_are_single_instructions() -> None:
    for name in ("ex2", "lg2", "tanh", "sin", "rsqrt"):
        op = {"ex2": "exp2", "lg2": "log2"}.get(name, name)
        module = unary_tile(F32, 4, lambda x, n=op: math.unary(n, x, fast=True))
        code = to_ptx(module)
        assert code.ptx.count(f"{name}.approx") == 4


def test_float_to_integer_saturates_in_ptx() -> None:
    def convert(x: Value) -> Value:
        return arith.cast("fptosi", x, I32)

    code = to_ptx(unary_tile(F32, 4, convert))
    assert code.ptx.count("cvt.rzi.s32.f32") == 4


def test_integer_types() -> None:
    for element in (I8, I32, I64):
        n = 128 // element.width
        module = unary_tile(element, n, lambda x: arith.binary("muli", x, x))
        code = to_ptx(module)
        assert code.ptx.count("ld.global") == 1


def test_min_and_max_choose_their_nan() -> None:
    for name, text in (("maximumf", "max.NaN.f16x2"), ("maxnumf", "max.f16x2")):
        module = unary_tile(
            F16, 8, lambda x, n=name: arith.binary(n, x, arith.constant(1.0, x.type))
        )
        code = to_ptx(module)
        assert code.ptx.count(text) == 4


def test_transposed_tile_still_loads_wide() -> None:
    """The contiguous mode is the second one: elements are reordered in registers."""
    pointer = cute.PtrType(F32, "gmem", 16)
    from codegen.samples import global_index, kernel_module

    def body(a: Value, c: Value) -> None:
        offset = arith.binary("muli", global_index(), arith.constant(16, I32))
        x = cute.tile_load(cute.ptr_add(a, offset, 16), cute.LayoutAttr((4, 4), (4, 1)))
        cute.tile_store(x, cute.ptr_add(c, offset, 16), cute.LayoutAttr((4, 4), (1, 4)))

    code, sass = build(kernel_module("transpose", (pointer, pointer), body))
    no_local_memory(code, sass)
    assert sass.count("LDG.E.128") == sass.count("STG.E.128") == 4


def test_static_offsets_are_immediates() -> None:
    _, sass = build(unary_tile(F32, 16, arith.negf))
    loads = [i for i in sass.instructions if "LDG.E.128" in i]
    assert len(loads) == 4
    assert sorted(i.split("+")[1].rstrip("]") for i in loads if "+" in i) == [
        "0x10",
        "0x20",
        "0x30",
    ]


def test_phases_are_timed() -> None:
    code = assemble(relu_2d(F16, 8))
    assert set(code.timings) >= {"lower", "print", "llvm parse", "llvm emit", "ptxas"}


def test_shifts_by_more_than_the_width_cost_nothing() -> None:
    """PTX's shl and shr clamp the amount as we do; LLVM has to see through the guard we print."""
    for name, guards in (("shli", 0), ("shrui", 0), ("shrsi", 1)):
        module = unary_tile(
            I32, 4, lambda x, n=name: arith.binary(n, x, arith.binary("muli", x, x))
        )
        ptx = to_ptx(module).ptx
        assert ptx.count("shl.b32" if name == "shli" else "shr.") >= 4
        assert ptx.count("min.") == 4 * guards and "selp" not in ptx


def test_a_constant_of_eight_bits_is_its_bits() -> None:
    module = unary_tile(
        I8, 4, lambda x: arith.constant(1.5, VectorType(4, FloatType("f8E4M3FN", 8)))
    )
    assert str(0x3C3C3C3C) in to_ptx(module).ptx  # sign 0, exponent 7, mantissa 0.5
