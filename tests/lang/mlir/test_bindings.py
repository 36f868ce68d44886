# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The names of MLIR's bindings that kernels use, in the spelling that kernels have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutlass
from compiled import on_device
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir._mlir_libs._cutlass_ir._mlir.ir import IntegerType
from cutlass._mlir.dialects import arith, llvm, math, nvvm, vector
from cutlass._mlir_helpers.dialect_proxy import DialectAutoConvertProxy
from cutlass.base_dsl.arch import Arch
from cutlass.base_dsl.dsl import extract_mlir_values, new_from_mlir_values
from cutlass.base_dsl.runtime.cuda import checkCudaErrors
from cutlass.cute.arch.nvvm_wrappers import FULL_MASK, WARP_SIZE
from cutlass.cutlass_dsl import (
    BaseDSL,
    Boolean,
    DSLCudaRuntimeError,
    Float32,
    Int32,
    T,
    and_,
    dsl_user_op,
    if_generate,
    not_,
    or_,
    while_generate,
    yield_out,
)
from opencute.base.errors import LanguageError, TypeMismatchError, VerificationError
from opencute.base.knobs import KNOBS

pytestmark = pytest.mark.t1

X = np.arange(32, dtype=np.int32) * 1013 - 9000


def test_types() -> None:
    struct = ir.Type.parse("!llvm.struct<(i32,i32, f32)>")
    assert str(struct) == "!llvm.struct<(i32, i32, f32)>"
    assert isinstance(struct, ir.Type) and not isinstance(3, ir.Type)
    assert IntegerType.get_signless(32) == T.i32() == Int32.mlir_type == ir.Type.parse("i32")
    assert ir.VectorType.get([4], Int32.mlir_type) == T.vector(4, T.i32())
    assert ir.F32Type.get() == T.f32() and ir.BF16Type.get() == T.bf16()
    assert isinstance(T.i32(), ir.IntegerType) and not isinstance(T.f32(), ir.IntegerType)
    assert str(llvm.PointerType.get(cute.AddressSpace.gmem)) == "!llvm.ptr<1>"
    assert str(llvm.PointerType.get()) == "!llvm.ptr"
    assert llvm.StructType.get_literal([T.i32()] * 3) == ir.Type.parse(
        "!llvm.struct<(i32, i32, i32)>"
    )
    assert llvm.AsmDialect.AD_ATT == 0
    assert (FULL_MASK, WARP_SIZE) == (0xFFFFFFFF, 32)


@dsl_user_op
def _halves(x: Any, *, loc: Any = None, ip: Any = None) -> Any:
    packed = llvm.inline_asm(
        ir.Type.parse("!llvm.struct<(i32,i32)>"), [x],
        "{ .reg .b16 a, b; mov.b32 {a, b}, $2; cvt.u32.u16 $0, a; cvt.u32.u16 $1, b; }",
        "=r,=r,r", has_side_effects=False, is_align_stack=False,
        asm_dialect=llvm.AsmDialect.AD_ATT, loc=loc, ip=ip,
    )  # fmt: skip
    return [llvm.extractvalue(T.i32(), packed, [i], loc=loc, ip=ip) for i in range(2)]


def test_inline_asm_with_a_struct() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        low, high = _halves(a[i])
        o[i] = Int32(high) * 3 + low

    out = np.zeros(32, np.int32)
    on_device(body, X, out, block=(32, 1, 1))
    u = X.view(np.uint32)
    assert (out == ((u >> 16) * 3 + (u & 0xFFFF)).astype(np.int32)).all()


def test_asm_without_a_result_on_an_address() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        address = (o.iterator + i).toint().ir_value()
        llvm.inline_asm(
            None, [address, a[i].ir_value()], "st.weak.global.b32 [$0], $1;", "l,r",
            has_side_effects=True, asm_dialect=0,
        )  # fmt: skip

    out = np.zeros(32, np.int32)
    on_device(body, X, out, block=(32, 1, 1))
    assert (out == X).all()


def test_results_that_are_stored_as_they_are() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        o[i] = llvm.inline_asm(
            Float32.mlir_type, [Float32(a[i]).ir_value()], "tanh.approx.f32 $0, $1;", "=f,f",
            has_side_effects=False,
        )  # fmt: skip

    out = np.zeros(32, np.float32)
    on_device(body, X, out, block=(32, 1, 1))
    assert (out == np.tanh(X.astype(np.float64)).astype(np.float32)).all()


def test_vectors_and_bitcasts() -> None:
    def body(a: Any, o: Any) -> None:
        v = a.load()
        bits = vector.bitcast(ir.VectorType.get([4], Int32.mlir_type), v)
        parts = [vector.extract(bits, [], [i]) for i in range(4)]
        back = vector.from_elements(T.vector(4, T.i32()), parts[::-1])
        o[0] = Int32(vector.extract(back, [], [0]))
        o[1] = Int32(llvm.bitcast(T.i32(), Float32(1.0)))
        o[2] = arith.addi(parts[0], Int32(1))
        o[3] = Int32(math.absf(Float32(-7.0)))

    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    out = np.zeros(4, np.int32)
    on_device(body, x, out)
    bits = x.view(np.int32)
    assert out.tolist() == [bits[3], 0x3F800000, bits[0] + 1, 7]


def test_pointers_and_elections() -> None:
    def body(o: Any) -> None:
        pointer = o.iterator.llvm_ptr
        generic = llvm.addrspacecast(llvm.PointerType.get(cute.AddressSpace.generic), pointer)
        value = Int32(nvvm.elect_sync()) * 7
        llvm.inline_asm(
            None, [generic, value.ir_value()], "red.add.u32 [$0], $1;", "l,r",
            has_side_effects=True,
        )  # fmt: skip

    out = np.zeros(1, np.int32)
    on_device(body, out, block=(64, 1, 1))
    assert out[0] == 14


def test_written_out_control_flow() -> None:
    def body(a: Any, o: Any) -> None:
        i = cute.arch.thread_idx()[0]
        spin = while_generate([a[i], Int32(0)], lambda x, n: x > 0)
        with spin as (x, n):
            yield_out([x >> 1, n + 1])
        positive = if_generate(a[i] > 0, lambda: spin.results[1], lambda: Int32(-1), None, [Int32])
        flag = if_generate(
            and_(a[i] > 0, or_(a[i] < 5000, not_(a[i] < 9000))),
            lambda: Boolean(True).ir_value(), lambda: Boolean(False),
            None, [Boolean],
        )  # fmt: skip
        o[i] = positive + Int32(flag) * 100

    out = np.zeros(32, np.int32)
    on_device(body, X, out, block=(32, 1, 1))
    want = [
        (int(x).bit_length() if x > 0 else -1) + 100 * (x > 0 and (x < 5000 or x >= 9000))
        for x in X
    ]
    assert out.tolist() == want


def test_control_flow_that_does_not_fit() -> None:
    def differ(o: Any) -> None:
        if_generate(o[0] > 0, lambda: Int32(1), None, None, [Int32])

    def loose(o: Any) -> None:
        yield_out([o[0]])

    def short(o: Any) -> None:
        with while_generate([o[0]], lambda x: x > 0):
            pass

    for body, code in ((differ, "OC1195"), (loose, "OC1196"), (short, "OC1196")):
        with pytest.raises(LanguageError) as e:
            on_device(body, np.zeros(1, np.int32))
        assert e.value.code == code


def test_values_of_objects() -> None:
    def body(a: Any, o: Any) -> None:
        pair = (a[0], 5, a[1])
        values = extract_mlir_values(pair)
        assert len(values) == 2 and all(isinstance(v, ir.Value) for v in values)
        swapped = new_from_mlir_values(pair, values[::-1])
        assert swapped[1] == 5
        o[0], o[1] = swapped[0], swapped[2]
        tree = extract_mlir_values({"x": a[0], "y": [a[1], a[2]]}, structured=True)
        assert set(tree) == {"x", "y"} and isinstance(tree["y"][1], ir.Value)
        o[2] = new_from_mlir_values(a[2], tree["x"], structured=True)
        with pytest.raises(TypeMismatchError) as e:
            new_from_mlir_values(pair, values[:1])
        assert e.value.code == "OC1218"

    out = np.zeros(3, np.int32)
    on_device(body, X, out)
    assert out.tolist() == [X[1], X[0], X[0]]


class _Value(ir.Value):
    """As the published examples derive classes from ir.Value."""

    def __init__(self, v: Any) -> None:
        super().__init__(v)

    def twice(self) -> Any:
        return Int32(self) * 2


def test_classes_derived_from_value() -> None:
    def body(a: Any, o: Any) -> None:
        value = _Value(a[1].ir_value())
        assert isinstance(value, ir.Value) and value.type == T.i32()
        o[0] = value.twice() + arith.muli(value, Int32(10))

    out = np.zeros(1, np.int32)
    on_device(body, X, out)
    assert out[0] == X[1] * 12


def test_mistakes_have_codes() -> None:
    def wrong_member(a: Any) -> None:
        s = llvm.inline_asm(ir.Type.parse("!llvm.struct<(i32, i32)>"), [a[0]],
                            "mov.b32 $0, $2; mov.b32 $1, $2;", "=r,=r,r")  # fmt: skip
        llvm.extractvalue(T.f32(), s, [0])

    def wrong_count(a: Any) -> None:
        llvm.inline_asm(T.i32(), [a[0], a[1]], "mov.b32 $0, $1;", "=r,r")

    def wrong_size(a: Any) -> None:
        llvm.bitcast(T.i64(), a[0])

    def no_value(a: Any) -> None:
        llvm.inline_asm(T.i32(), ["x"], "mov.b32 $0, $1;", "=r,r")

    for body, error, code in (
        (wrong_member, TypeMismatchError, "OC1215"),
        (wrong_count, VerificationError, "OC1490"),
        (wrong_size, TypeMismatchError, "OC1216"),
        (no_value, TypeMismatchError, "OC1212"),
    ):
        with pytest.raises(error) as e:
            on_device(body, X)
        assert e.value.code == code


def test_what_kernels_ask_of_the_compiler() -> None:
    with KNOBS.override(target="sim:sm_100a"):
        arch = BaseDSL._get_dsl().get_arch_enum()
    assert arch is Arch.sm_100a and Arch.sm_100 <= arch <= Arch.sm_100f < Arch.sm_103
    assert checkCudaErrors((0,)) is None and checkCudaErrors((0, 1, 2)) == (1, 2)
    with pytest.raises(DSLCudaRuntimeError):
        checkCudaErrors((2, None))
    assert DialectAutoConvertProxy(llvm).inline_asm is llvm.inline_asm
    assert cutlass.extract_mlir_values is extract_mlir_values
