# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How `arith` operations are printed as LLVM IR.

``arith.addf %a, %b : vector<8xf16>`` becomes ``fadd <8 x half> %a, %b``; LLVM selects packed
instructions for it by itself. Conversions to integers go through PTX's own cvt, because LLVM leaves
out-of-range values undefined where we do not.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import constant_text, llvm_type, mangled
from opencute.dialects.arith import CMPF, CMPI
from opencute.ir.attributes import DenseAttr, IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.types import FloatType, IntegerType, Type, VectorType, element_type, lanes

__all__ = ["ARITH", "binary", "division", "per_lane"]

_BINARY = {
    "addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor",
    "addf": "fadd", "subf": "fsub", "mulf": "fmul",
}  # fmt: skip
_DIVISIONS = {"divsi": "sdiv", "divui": "udiv", "remsi": "srem", "remui": "urem"}
_SHIFTS = {"shli": "shl", "shrsi": "ashr", "shrui": "lshr"}
_INTRINSIC = {
    "maxsi": "smax", "maxui": "umax", "minsi": "smin", "minui": "umin",
    "maximumf": "maximum", "minimumf": "minimum", "maxnumf": "maxnum", "minnumf": "minnum",
}  # fmt: skip
_CAST = {
    "extsi": "sext", "extui": "zext", "trunci": "trunc", "extf": "fpext", "truncf": "fptrunc",
    "sitofp": "sitofp", "uitofp": "uitofp", "bitcast": "bitcast",
}  # fmt: skip
_CMPI_NAMES = {v: k for k, v in CMPI.items()}
_CMPF_NAMES = {v: k for k, v in CMPF.items()}


def binary(word: str) -> OpPrinter:
    """A printer of a two-operand instruction."""

    def printer(e: Emitter, op: Op) -> None:
        lhs, rhs = op.operands
        e.emit(op.results[0], f"{word} {e.typed(lhs)}, {e.ref(rhs)}")

    return printer


def division(word: str) -> OpPrinter:
    """A printer of a division that is defined for all operands.

    In LLVM a division by zero, and of the least number by -1, is undefined behaviour, from which
    whole branches are concluded to be dead; a processor may fault. Here the first gives a number
    that nobody may rely on, as on a GPU, and the second wraps.
    """

    def printer(e: Emitter, op: Op) -> None:
        lhs, rhs = op.operands
        divisor = e.ref(rhs)
        if not _divides(rhs):
            bad = e.assign(f"icmp eq {e.typed(rhs)}, {_splat(rhs.type, 0)}")
            n = lanes(rhs.type)
            flags = "i1" if n is None else f"<{n} x i1>"
            if word.startswith("s"):
                element = element_type(rhs.type)
                assert isinstance(element, IntegerType)
                least = _splat(lhs.type, -(1 << (element.width - 1)))
                minus = e.assign(f"icmp eq {e.typed(rhs)}, {_splat(rhs.type, -1)}")
                low = e.assign(f"icmp eq {e.typed(lhs)}, {least}")
                over = e.assign(f"and {flags} {minus}, {low}")
                bad = e.assign(f"or {flags} {bad}, {over}")
            one = f"{llvm_type(rhs.type)} {_splat(rhs.type, 1)}"
            divisor = e.assign(f"select {flags} {bad}, {one}, {e.typed(rhs)}")
        e.emit(op.results[0], f"{word} {e.typed(lhs)}, {divisor}")

    return printer


_EXTENTS = ("ntid.", "nctaid.", "cluster_nctaid.", "nclusterid.")


def _divides(divisor: Value) -> bool:
    """Whether a division by this is defined for all dividends: a constant, or an extent."""
    op = divisor.op
    if op is None:
        return False
    if op.name == "ptx.sreg":
        reg = op.attributes["reg"]
        return isinstance(reg, StringAttr) and reg.value.startswith(_EXTENTS)
    if op.name != "arith.constant":
        return False
    found = op.attributes["value"]
    items = found.items if isinstance(found, DenseAttr) else (found,)
    return all(isinstance(i, IntAttr) and i.value not in (0, -1) for i in items)


def _shift(word: str) -> OpPrinter:
    """Shift by amounts of the width and more too, as PTX's shl and shr do: all bits leave.

    LLVM calls such a result poison, so that the amount is clamped (ashr) or zero chosen; it takes
    that back where it knows the amount, and where the instruction clamps by itself.
    """

    def printer(e: Emitter, op: Op) -> None:
        value, amount = op.operands
        element = element_type(value.type)
        assert isinstance(element, IntegerType)
        if _amounts_fit(amount, element.width):
            e.emit(op.results[0], f"{word} {e.typed(value)}, {e.ref(amount)}")
            return
        type = llvm_type(value.type)
        if word == "ashr":
            last = _splat(value.type, element.width - 1)
            args = [(type, e.ref(amount)), (type, last)]
            clamped = e.call(f"llvm.umin.{mangled(value.type)}", value.type, args)
            e.emit(op.results[0], f"ashr {e.typed(value)}, {clamped}")
            return
        fits = e.assign(f"icmp ult {e.typed(amount)}, {_splat(value.type, element.width)}")
        shifted = e.assign(f"{word} {e.typed(value)}, {e.ref(amount)}")
        n = lanes(value.type)
        flags = "i1" if n is None else f"<{n} x i1>"
        zero = "0" if n is None else "zeroinitializer"
        e.emit(op.results[0], f"select {flags} {fits}, {type} {shifted}, {type} {zero}")

    return printer


def _amounts_fit(amount: Value, width: int) -> bool:
    op = amount.op
    if op is None or op.name != "arith.constant":
        return False
    found = op.attributes["value"]
    items = found.items if isinstance(found, DenseAttr) else (found,)
    return all(isinstance(i, IntAttr) and 0 <= i.value < width for i in items)


def _splat(type: Type, value: int) -> str:
    """A constant operand, of a scalar or of each lane of a vector."""
    item = IntAttr(value, element_type(type))
    return constant_text(DenseAttr((item,), type) if isinstance(type, VectorType) else item)


def _intrinsic(word: str) -> OpPrinter:
    def printer(e: Emitter, op: Op) -> None:
        t = op.results[0].type
        args = [(llvm_type(v.type), e.ref(v)) for v in op.operands]
        e.names[op.results[0]] = e.call(f"llvm.{word}.{mangled(t)}", t, args)

    return printer


def _cast(word: str) -> OpPrinter:
    def printer(e: Emitter, op: Op) -> None:
        value = op.operands[0]
        to = llvm_type(op.results[0].type)
        if word == "bitcast" and llvm_type(value.type) == to:
            e.names[op.results[0]] = e.ref(value)
        else:
            e.emit(op.results[0], f"{word} {e.typed(value)} to {to}")

    return printer


def _constant(e: Emitter, op: Op) -> None:
    """Constants are written where they are used."""


def _negf(e: Emitter, op: Op) -> None:
    e.emit(op.results[0], f"fneg {e.typed(op.operands[0])}")


def _cmpi(e: Emitter, op: Op) -> None:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    lhs, rhs = op.operands
    e.emit(op.results[0], f"icmp {_CMPI_NAMES[predicate.value]} {e.typed(lhs)}, {e.ref(rhs)}")


def _cmpf(e: Emitter, op: Op) -> None:
    predicate = op.attributes["predicate"]
    assert isinstance(predicate, IntAttr)
    lhs, rhs = op.operands
    e.emit(op.results[0], f"fcmp {_CMPF_NAMES[predicate.value]} {e.typed(lhs)}, {e.ref(rhs)}")


def _select(e: Emitter, op: Op) -> None:
    c, a, b = op.operands
    e.emit(op.results[0], f"select {e.typed(c)}, {e.typed(a)}, {e.typed(b)}")


def _index_cast(e: Emitter, op: Op) -> None:
    src, dst = llvm_type(op.operands[0].type), llvm_type(op.results[0].type)
    if src == dst:
        e.names[op.results[0]] = e.ref(op.operands[0])
        return
    wider = int(dst[1:]) > int(src[1:])
    word = "sext" if wider else "trunc"
    e.emit(op.results[0], f"{word} {e.typed(op.operands[0])} to {dst}")


def per_lane(e: Emitter, op: Op, one: Callable[[list[str]], str]) -> None:
    """Print an operation lane by lane; `one` makes a lane's result from its operand texts."""
    result = op.results[0]
    n = lanes(result.type)
    if n is None:
        e.names[result] = one([e.ref(v) for v in op.operands])
        return
    out, type = "poison", llvm_type(result.type)
    element = llvm_type(element_type(result.type))
    for i in range(n):
        args = [e.assign(f"extractelement {e.typed(v)}, i32 {i}") for v in op.operands]
        out = e.assign(f"insertelement {type} {out}, {element} {one(args)}, i32 {i}")
    e.names[result] = out


def _fptoint(signed: bool) -> OpPrinter:
    """Truncate, clamp to the range, NaN to 0 (PTX ISA, "cvt": integer results saturate)."""
    sign = "s" if signed else "u"

    def printer(e: Emitter, op: Op) -> None:
        src, dst = element_type(op.operands[0].type), element_type(op.results[0].type)
        assert isinstance(src, FloatType) and isinstance(dst, IntegerType)

        def one(args: list[str]) -> str:
            value, text = args[0], llvm_type(src)
            if src.width < 32:
                value, text = e.assign(f"fpext {text} {value} to float"), "float"
            return _convert(e, value, text, dst.width, signed, sign)

        per_lane(e, op, one)

    return printer


def _convert(e: Emitter, value: str, text: str, width: int, signed: bool, sign: str) -> str:
    through = 64 if width > 32 else 32
    register, kind = ("d", "f64") if text == "double" else ("f", "f32")
    wide = e.assign(
        f'call i{through} asm "cvt.rzi.{sign}{through}.{kind} $0, $1;", '
        f'"={"l" if through == 64 else "r"},{register}"({text} {value})'
    )
    if through == 64 or text == "double":
        # Only a 32-bit result from f32 makes NaN 0 by itself.
        nan = e.assign(f"fcmp uno {text} {value}, {value}")
        wide = e.assign(f"select i1 {nan}, i{through} 0, i{through} {wide}")
    if width == through:
        return wide
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    ty = f"i{through}"
    if signed:
        wide = e.call(f"llvm.smax.{ty}", ty, [(ty, wide), (ty, str(low))])
        wide = e.call(f"llvm.smin.{ty}", ty, [(ty, wide), (ty, str(high))])
    else:
        wide = e.call(f"llvm.umin.{ty}", ty, [(ty, wide), (ty, str(high))])
    return e.assign(f"trunc {ty} {wide} to i{width}")


ARITH: dict[str, OpPrinter] = {
    **{f"arith.{name}": binary(word) for name, word in _BINARY.items()},
    **{f"arith.{name}": division(word) for name, word in _DIVISIONS.items()},
    **{f"arith.{name}": _shift(word) for name, word in _SHIFTS.items()},
    **{f"arith.{name}": _intrinsic(word) for name, word in _INTRINSIC.items()},
    **{f"arith.{name}": _cast(word) for name, word in _CAST.items()},
    "arith.constant": _constant,
    "arith.negf": _negf,
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.index_cast": _index_cast,
    "arith.fptosi": _fptoint(True),
    "arith.fptoui": _fptoint(False),
}
