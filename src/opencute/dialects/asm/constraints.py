# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Constraint strings and templates of inline assembly, and which of them are right.

In: a template and constraints as LLVM has them, and the types of operands and results. Out: an
`AsmSignature`, or a ValueError that says what is wrong; LLVM itself ends the process for most of
these mistakes, so nothing unchecked may reach it::

    >>> s = parse_constraints("=r,=r,l,0,~{memory}")
    >>> [c.letter for c in s.outputs], [c.letter for c in s.inputs], s.inputs[1].tied
    (['r', 'r'], ['l', 'r'], 0)

The letters are NVPTX's: ``b`` predicate, ``c`` and ``h`` 16 bits, ``r`` 32, ``l`` 64, ``q`` 128,
``f`` and ``d`` floats; ``n`` and ``i`` take a constant. An integer narrower than its register comes
in with zeros above it, and a narrower result is the lower bits of its register.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opencute.ir.types import FloatType, IntegerType, Type, VectorType

__all__ = [
    "REGISTER_BITS",
    "AsmOperand",
    "AsmSignature",
    "check_asm",
    "parse_constraints",
    "template_parts",
    "type_bits",
]

REGISTER_BITS = {"b": 1, "c": 16, "h": 16, "r": 32, "l": 64, "q": 128, "f": 32, "d": 64}
_IMMEDIATE = ("n", "i")
_NAMES = ", ".join(f"{k} ({v} bit)" for k, v in REGISTER_BITS.items())
_REFERENCE = re.compile(r"\$(\$|\d+|\{(\d+)\})?")


@dataclass(frozen=True)
class AsmOperand:
    """One constraint.

    Args:
        letter: the register class, or ``n``/``i`` for a constant.
        tied: for an input, the output whose register it starts in.
        early: for an output, whether it is written before all inputs are read.
    """

    letter: str
    tied: int | None = None
    early: bool = False

    @property
    def bits(self) -> int:
        """Bits of the register; 0 for a constant."""
        return REGISTER_BITS.get(self.letter, 0)


@dataclass(frozen=True)
class AsmSignature:
    """What a constraint string says: ``$0`` and so on are outputs, then inputs.

    Args:
        outputs: registers that are written.
        inputs: registers and constants that are read.
        memory: whether it says that memory is clobbered.
    """

    outputs: tuple[AsmOperand, ...]
    inputs: tuple[AsmOperand, ...]
    memory: bool = False


def parse_constraints(text: str) -> AsmSignature:
    """Read a constraint string.

    Raises:
        ValueError: what is wrong with it.
    """
    outputs: list[AsmOperand] = []
    inputs: list[AsmOperand] = []
    memory = False
    for item in [part.strip() for part in text.split(",")] if text.strip() else []:
        if item.startswith("~"):
            if item != "~{memory}":
                raise ValueError(f"{item!r} is not the clobber ~{{memory}}, the only one there is")
            memory = True
        elif memory:
            raise ValueError(f"{item!r} stands after a clobber")
        elif item.startswith("="):
            if inputs:
                raise ValueError(f"output {item!r} stands after an input")
            outputs.append(_output(item))
        elif item.isdecimal():
            inputs.append(_tied(item, outputs, inputs))
        else:
            inputs.append(_input(item))
    return AsmSignature(tuple(outputs), tuple(inputs), memory)


def _output(item: str) -> AsmOperand:
    letter = item[1:].removeprefix("&")
    if letter not in REGISTER_BITS:
        raise ValueError(f"{item!r} is no output: expected '=' and one of {_NAMES}")
    return AsmOperand(letter, early=item[1] == "&")


def _tied(item: str, outputs: Sequence[AsmOperand], inputs: Sequence[AsmOperand]) -> AsmOperand:
    number = int(item)
    if number >= len(outputs):
        raise ValueError(f"{item!r} ties an input to output {number}; there are {len(outputs)}")
    if any(i.tied == number for i in inputs):
        raise ValueError(f"two inputs are tied to output {number}")
    return AsmOperand(outputs[number].letter, tied=number)


def _input(item: str) -> AsmOperand:
    if item.startswith("+"):
        raise ValueError(
            f"{item!r}: read-write operands are written as an output '={item[1:]}' and an input "
            "with the output's number"
        )
    if item not in REGISTER_BITS and item not in _IMMEDIATE:
        raise ValueError(f"{item!r} is no constraint: expected one of {_NAMES}, n, i, or a number")
    return AsmOperand(item)


def template_parts(text: str) -> list[str | int]:
    """A template as text and operand numbers: ``mov.b32 $0, $1;`` is ['mov.b32 ', 0, ', ', 1, ';'].

    Raises:
        ValueError: a ``$`` that is neither ``$$``, ``$N`` nor ``${N}``, or an odd character.
    """
    for c in text:
        if not (0x20 <= ord(c) < 0x7F or c in "\n\t\r"):
            raise ValueError(f"the character {c!r} cannot stand in assembly")
    out: list[str | int] = []
    last = 0
    for found in _REFERENCE.finditer(text):
        out.append(text[last : found.start()])
        last = found.end()
        if not found[1]:
            rest = text[found.start() : found.start() + 8]
            raise ValueError(f"{rest!r}: after a dollar stands an operand's number or a dollar")
        out.append("$" if found[1] == "$" else int(found[2] or found[1]))
    out.append(text[last:])
    return [part for part in out if part != ""]


def type_bits(type: Type) -> int | None:
    """Bits of a value that fits a register, None for other types."""
    if isinstance(type, IntegerType | FloatType):
        return type.width
    if isinstance(type, VectorType) and isinstance(type.element, IntegerType | FloatType):
        return type.length * type.element.width
    return 64 if str(type).startswith("!llvm.ptr") else None


def check_asm(
    text: str, constraints: str, operands: Sequence[tuple[Type, bool]], results: Sequence[Type]
) -> AsmSignature:
    """Check inline assembly as a whole.

    Args:
        text: the template.
        constraints: the constraint string.
        operands: type of each operand, and whether it is a constant.
        results: type of each result.

    Raises:
        ValueError: what is wrong.
    """
    signature = parse_constraints(constraints)
    for what, slots, given in (("output", signature.outputs, results),
                               ("input", signature.inputs, operands)):  # fmt: skip
        if len(slots) != len(given):
            raise ValueError(
                f"the constraints {constraints!r} name {len(slots)} {what}s, "
                f"there {'is' if len(given) == 1 else 'are'} {len(given)}"
            )
    for i, (slot, type) in enumerate(zip(signature.outputs, results, strict=True)):
        _check_fit(f"output ${i}", slot, type)
    for i, (slot, (type, constant)) in enumerate(zip(signature.inputs, operands, strict=True)):
        what = f"input ${len(results) + i}"
        if slot.letter in _IMMEDIATE:
            if not constant or not isinstance(type, IntegerType) or type.width > 64:
                raise ValueError(
                    f"{what} is {slot.letter!r}, which takes an integer constant, not a run-time "
                    f"value of type {type}"
                )
        else:
            _check_fit(what, slot, type)
            if slot.tied is not None and type_bits(type) != type_bits(results[slot.tied]):
                raise ValueError(f"{what} is tied to an output of type {results[slot.tied]}, "
                                 f"it has type {type}")  # fmt: skip
    count = len(results) + len(operands)
    for part in template_parts(text):
        if isinstance(part, int) and part >= count:
            raise ValueError(f"the text names operand ${part}; there are {count}")
    _check_braces(text)
    return signature


def _check_fit(what: str, slot: AsmOperand, type: Type) -> None:
    bits = type_bits(type)
    small = isinstance(type, IntegerType) and slot.letter in "chrl" and type.width < slot.bits
    if bits is None or (bits != slot.bits and not small):
        raise ValueError(f"{what} is {slot.letter!r}, a register of {slot.bits} bits, "
                         f"and cannot hold {type}")  # fmt: skip
    if slot.letter == "b" and type != IntegerType(1):
        raise ValueError(f"{what} is 'b', a predicate, and cannot hold {type}")


def _check_braces(text: str) -> None:
    depth = 0
    for c in re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL):
        depth += (c == "{") - (c == "}")
        if depth < 0:
            break
    if depth:
        raise ValueError("the braces do not match")
