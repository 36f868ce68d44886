# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch.inline_ptx` and `inline_asm`: PTX text with typed operands and stated effects.

::

    bits = cute.arch.inline_ptx("mul.hi.u32 $0, $1, $2;", a, b, results=Uint32)
    lo, hi = cute.arch.inline_ptx("mov.b64 {$0, $1}, $2;", x, results=(Int32, Int32))
    cute.arch.inline_ptx("st.global.cs.b32 [$0], $1;", pointer, value, writes=True)

Register classes follow from the types: Boolean is a predicate, 16-bit types ``h``, 32 ``r`` or
``f``, 64 ``l`` or ``d``, 128 ``q``; pointers are addresses (32 bits in shared memory, else 64).
Without any effect the text may be moved, merged, and dropped if its results are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import llvm
from opencute.ir.attributes import UNIT, Attribute, StringAttr
from opencute.ir.builder import build
from opencute.ir.core import Value
from opencute.ir.types import FloatType, IntegerType, Type, VectorType
from opencute.lang.mlir.values import as_number, as_value
from opencute.lang.numbers import Numeric, NumericMeta
from opencute.lang.pointers import AddressSpace, Pointer

__all__ = ["inline_asm", "inline_ptx"]

_LETTERS = {8: "h", 16: "h", 32: "r", 64: "l", 128: "q"}


def _letter(type: Type) -> str:
    """The register class of a type."""
    if type == IntegerType(1):
        return "b"
    if isinstance(type, FloatType) and type.width in (32, 64):
        return "f" if type.width == 32 else "d"
    width = int(getattr(type, "width", 0))
    if isinstance(type, VectorType):
        width = type.length * int(getattr(type.element, "width", 0))
    if isinstance(type, llvm.LLVMPointerType):
        width = 64
    if width not in _LETTERS:
        raise TypeMismatchError("no register holds this type", code="OC1219", found=type)
    return _LETTERS[width]


def _operand(item: Any) -> Value:
    if isinstance(item, Pointer) and item.memspace == AddressSpace.smem:
        return item.toint().ir_value()
    return as_value(item)


def _class(item: Any) -> tuple[Type, Any]:
    """The IR type of a result and the class that it comes back in."""
    if isinstance(item, NumericMeta):
        return item.mlir_type, item
    if isinstance(item, Type):
        return item, None
    plain = {int: IntegerType(32), float: FloatType("f32", 32), bool: IntegerType(1)}
    if isinstance(item, type) and item in plain:
        return plain[item], None
    raise TypeMismatchError("results are numeric classes", code="OC1219", found=repr(item)[:80])


def inline_ptx(
    text: str,
    *operands: Any,
    results: Any = (),
    reads: bool = False,
    writes: bool = False,
    volatile: bool = False,
    convergent: bool = False,
    constraints: str | None = None,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Inline PTX.

    Args:
        text: ``$0`` and so on are the results, then the operands; ``$$`` is a dollar.
        operands: numbers, pointers, vectors of up to 128 bits.
        results: a numeric class, or a tuple of them.
        reads: whether it reads memory.
        writes: whether it writes memory.
        volatile: whether it has another effect, so that it must stay where it is.
        convergent: whether threads do it together (barriers, shuffles, votes).
        constraints: register classes, if not those that follow from the types.

    Returns:
        A number, a tuple of several, or None without results.

    Raises:
        VerificationError: OC1490, text, constraints and types do not fit together.
        TypeMismatchError: OC1219, an operand or result that no register holds.
    """
    single = not isinstance(results, tuple | list)
    wanted: Sequence[Any] = (results,) if single else results
    classes = [_class(r) for r in wanted]
    values = [_operand(o) for o in operands]
    if constraints is None:
        letters = ["=" + _letter(t) for t, _ in classes] + [_letter(v.type) for v in values]
        constraints = ",".join(letters)
    words = {"reads": reads, "writes": writes, "volatile": volatile, "convergent": convergent}
    if not classes and not writes and not convergent:
        words["volatile"] = True
    effects = " ".join(word for word, on in words.items() if on)
    attrs: dict[str, Attribute] = {
        "asm_string": StringAttr(str(text)),
        "constraints": StringAttr(constraints),
        "opencute.effects": StringAttr(effects),
    }
    if words["volatile"] or writes:
        attrs["has_side_effects"] = UNIT
    types: list[Type] = [t for t, _ in classes]
    if len(types) > 1:
        types = [llvm.LLVMStructType(tuple(types))]
    op = build("llvm.inline_asm", values, types, attrs)
    op.verify()
    if not classes:
        return None
    parts: list[Value] = [op.results[0]]
    if len(classes) > 1:
        parts = [llvm.extractvalue(op.results[0], i) for i in range(len(classes))]
    out = tuple(
        cls(v) if isinstance(cls, type) and issubclass(cls, Numeric) else as_number(v)
        for v, (_, cls) in zip(parts, classes, strict=True)
    )
    return out[0] if len(out) == 1 and single else out


def inline_asm(
    text: str,
    constraints: str,
    operands: Sequence[Any] = (),
    results: Any = (),
    *,
    reads: bool = False,
    writes: bool = False,
    volatile: bool = True,
    convergent: bool = False,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """Inline PTX with register classes written out; by default it stays where it is.

    Args:
        text: see `inline_ptx`.
        constraints: such as ``"=r,r,l"``, outputs first.
        operands: the inputs.
        results: a numeric class, or a tuple of them.
        reads, writes, volatile, convergent: its effects.
    """
    return inline_ptx(
        text, *operands, results=results, reads=reads, writes=writes, volatile=volatile,
        convergent=convergent, constraints=constraints, loc=loc, ip=ip,
    )  # fmt: skip
