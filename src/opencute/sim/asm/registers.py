# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The registers of a piece of inline PTX while it is expanded: names to SSA values.

A register is an integer of its width (i1 for predicates), whatever instructions read in it.
"""

from __future__ import annotations

import struct

from opencute.dialects import arith
from opencute.dialects import ptx as ptx_dialect
from opencute.ir.builder import insert_at, new_block
from opencute.ir.core import Value
from opencute.ir.types import I1, I32, FloatType, IntegerType, Type, VectorType
from opencute.sim.asm.syntax import (
    AsmError,
    Immediate,
    Instruction,
    Operand,
    Register,
    Vector,
    type_width,
)

__all__ = ["Registers", "from_bits", "to_bits"]


def to_bits(value: Value, width: int) -> Value:
    """A value as an integer of `width` bits, with zeros above a narrower one."""
    type = value.type
    if isinstance(type, FloatType):
        value = arith.cast("bitcast", value, IntegerType(type.width))
    elif isinstance(type, VectorType):
        value = _joined(value, type)
    bits = getattr(value.type, "width", width)
    return value if bits == width else arith.cast("extui", value, IntegerType(width))


def _joined(value: Value, type: VectorType) -> Value:
    from opencute.dialects import vector

    element = getattr(type.element, "width", 0)
    whole = IntegerType(element * type.length)
    out: Value = arith.constant(0, whole)
    for i in range(type.length):
        part = to_bits(vector.extract(value, i), element)
        wide = arith.cast("extui", part, whole) if type.length > 1 else part
        shifted = arith.binary("shli", wide, arith.constant(i * element, whole))
        out = arith.binary("ori", out, shifted)
    return out


def from_bits(value: Value, type: Type) -> Value:
    """The value of a type that an integer holds in its lower bits."""
    if isinstance(type, IntegerType):
        return value if value.type == type else arith.cast("trunci", value, type)
    if isinstance(type, FloatType):
        return arith.cast("bitcast", from_bits(value, IntegerType(type.width)), type)
    assert isinstance(type, VectorType)
    from opencute.dialects import vector

    element = getattr(type.element, "width", 0)
    parts: list[Value] = []
    for i in range(type.length):
        shifted = arith.binary("shrui", value, arith.constant(i * element, value.type))
        parts.append(from_bits(shifted, type.element))
    return vector.from_elements(parts)


class Registers:
    """What each register holds at the place that is being expanded.

    Args:
        widths: bits of each register that there is.
        values: those that hold something.
    """

    def __init__(self, widths: dict[str, int], values: dict[str, Value]) -> None:
        self.widths = widths
        self.values = values

    # ------------------------------------------------------------------ reading
    def width(self, name: str) -> int:
        """Bits of a register.

        Raises:
            AsmError: there is none.
        """
        width = self.widths.get(name)
        if width is None:
            what = (
                "operand"
                if name.startswith("$")
                else "special register"
                if name[0] == "%"
                else "register"
            )
            raise AsmError(f"there is no {what} {name}")
        return width

    def get(self, name: str) -> Value:
        """What a register holds; 0 if nothing wrote it."""
        width = self.width(name)
        value = self.values.get(name)
        if value is None:
            value = self.values[name] = arith.constant(0, IntegerType(width))
        return value

    def read(self, operand: Operand, word: str, *, loose: bool = False, width: int = 0) -> Value:
        """An operand as bits of the type `word`.

        Args:
            operand: a register or a constant.
            word: the type in the instruction; says how constants are written.
            loose: whether a wider register may stand there.
            width: bits wanted, if not those of `word`.
        """
        bits = width or type_width(word) or 32
        if isinstance(operand, Immediate):
            return arith.constant(_constant(operand, word, bits), IntegerType(bits))
        if not isinstance(operand, Register):
            raise AsmError(f"{operand} stands where a register or a constant belongs")
        value = self._named(operand)
        found = getattr(value.type, "width", 0)
        if found != bits:
            if not (loose and found > bits > 1):
                raise AsmError(f"{operand.name} has {found} bits, the instruction reads {bits}")
            value = arith.cast("trunci", value, IntegerType(bits))
        if operand.negated:
            if bits != 1:
                raise AsmError(f"{operand}: only predicates are negated")
            value = arith.binary("xori", value, arith.constant(1, I1))
        return value

    def _named(self, operand: Register) -> Value:
        name = operand.name
        if name in self.widths:
            return self.get(name)
        if name == "WARP_SZ":
            return arith.constant(32, I32)
        if name.startswith("%") and name[1:] in ptx_dialect.SREGS:
            return ptx_dialect.sreg(name[1:])
        self.width(name)
        raise AssertionError(name)

    def predicate(self, operand: Operand) -> Value:
        """A predicate, perhaps negated."""
        return self.read(operand, "pred")

    # ------------------------------------------------------------------ writing
    def write(
        self, operand: Operand, value: Value, *, loose: bool = False, signed: bool = False
    ) -> None:
        """Put a value in a register; ``_`` drops it.

        Args:
            operand: the register.
            value: an integer.
            loose: whether the register may be wider.
            signed: whether it is then filled with the sign.
        """
        if not isinstance(operand, Register) or operand.negated:
            raise AsmError(f"{operand} stands where a register belongs that is written")
        if operand.name == "_":
            return
        wanted, found = self.width(operand.name), getattr(value.type, "width", 0)
        if wanted != found:
            if not (loose and wanted > found > 1):
                raise AsmError(f"{operand.name} has {wanted} bits, the instruction writes {found}")
            value = arith.cast("extsi" if signed else "extui", value, IntegerType(wanted))
        self.values[operand.name] = value

    def items(self, operand: Operand, count: int, text: str) -> list[Operand]:
        """The members of a vector operand, or the operand itself where there is one."""
        if count == 1:
            return [operand]
        if not isinstance(operand, Vector) or len(operand.items) != count:
            raise AsmError(f"{text}: expected a list of {count} registers in braces")
        return list(operand.items)

    # ------------------------------------------------------------------ under a condition
    def where(self, condition: Value, run: Instruction, body: object) -> None:
        """Run what `body` builds where a condition holds; elsewhere registers stay."""
        assert callable(body)
        before = dict(self.values)
        then, block = new_block()
        with insert_at(block):
            body()
            names = [n for n, v in self.values.items() if before.get(n) is not v]
            after = {n: self.values[n] for n in names}
        self.values = before
        from opencute.dialects import scf

        # What the else side yields has to exist before the branch.
        olds = [self.get(n) for n in names]
        with insert_at(block):
            scf.yield_([after[n] for n in names])
        orelse, other = new_block()
        with insert_at(other):
            scf.yield_(olds)
        made = scf.if_(condition, [v.type for v in olds], then, orelse)
        self.values.update(zip(names, made.results, strict=True))


def _constant(operand: Immediate, word: str, bits: int) -> int:
    value = operand.value
    if word in ("f32", "f64") or (isinstance(value, float) and word[0] == "f"):
        return _float_bits(operand, word)
    if isinstance(value, float):
        raise AsmError(f"{value} is no integer")
    if operand.width and operand.width != bits:
        raise AsmError(f"a constant of {operand.width} bits stands where {bits} belong")
    if bits == 1:
        return int(value != 0)
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise AsmError(f"{value} does not fit in {bits} bits")
    return value


def _float_bits(operand: Immediate, word: str) -> int:
    if word not in ("f32", "f64"):
        raise AsmError(f"{operand} cannot be a constant of type {word}")
    value = operand.value
    if operand.width:
        assert isinstance(value, int)
        source = "<f" if operand.width == 32 else "<d"
        if operand.width == (32 if word == "f32" else 64):
            return value
        number = struct.unpack(source, value.to_bytes(operand.width // 8, "little"))[0]
    else:
        number = float(value)
    try:
        data = struct.pack("<f" if word == "f32" else "<d", number)
    except OverflowError:
        raise AsmError(f"{number} does not fit in {word}") from None
    return int.from_bytes(data, "little")
