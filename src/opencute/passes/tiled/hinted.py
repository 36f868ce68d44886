# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of tiles with a memory order or cache hints: assembly, which LLVM leaves alone.

In: what `memory.load_run` and `store_run` take, and the hints. Out: one instruction for each part
that an instruction can move::

    ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {$0, $1, $2, $3}, [$4];

Hints about caches mean nothing for shared memory; what nobody writes is read by an ordinary load
that LLVM may move.
"""

from __future__ import annotations

from dataclasses import replace

from opencute.arch.hints import AccessHints
from opencute.arch.target import Target
from opencute.dialects import arith, llvm, vector
from opencute.ir.core import Value
from opencute.ir.types import I8, I16, I32, I64, Type, VectorType, element_type, lanes

__all__ = ["Hinted", "relevant"]

_LETTER: dict[Type, str] = {I16: "h", I32: "r", I64: "l"}
_SPACE = {"gmem": ".global", "generic": "", "smem": ".shared", "dsmem": ".shared::cluster"}


def relevant(hints: AccessHints, space: str, *, loads: bool) -> AccessHints:
    """What of the hints concerns an access to a memory space."""
    if space == "rmem":
        return AccessHints()
    if space in ("smem", "dsmem"):
        return AccessHints(sem=hints.sem, scope=hints.scope)
    if loads and space == "gmem":
        return hints
    return replace(hints, prefetch=0, invariant=False)


class Hinted:
    """Loads and stores of one memory space with hints.

    Args:
        hints: what of the hints concerns it.
        space: the memory space.
        target: what is compiled for.
    """

    def __init__(self, hints: AccessHints, space: str, target: Target) -> None:
        if hints.scope == "cluster" and not target.has_clusters:
            hints = replace(hints, scope="cta")
        self.hints, self.space = hints, space
        self.near = space in ("smem", "dsmem")
        self.most = target.max_access_bits(space) // 8

    def _text(self, stem: str, size: int) -> tuple[str, Type, int]:
        """Such as ``ld.global.nc.v4.b32``, the type of a register, and how many there are."""
        n = max(size // 4, 1)
        bits = min(size, 4) * 8
        stem += self.hints.qualifiers(_SPACE[self.space], loads=stem == "ld")
        return f"{stem}{f'.v{n}' if n > 1 else ''}.b{bits}", {8: I8, 16: I16, 32: I32}[bits], n

    def _operands(self, address: Value) -> tuple[Value, str]:
        return (llvm.ptrtoint(address, I32), "r") if self.near else (address, "l")

    def _policy(self, first: int) -> tuple[str, str, tuple[Value, ...]]:
        """The policy's operand: text, constraint, value."""
        bits = self.hints.signed_policy
        if bits is None:
            return "", "", ()
        return f", ${first}", ",l", (arith.constant(bits, I64),)

    def load(self, address: Value, type: Type, align: int) -> Value:
        """A scalar or vector that makes whole bytes."""
        if self.hints == AccessHints(invariant=True):
            return llvm.load(address, type, align, invariant=True)
        total = _bits(type) // 8
        step = min(align, self.most, total)
        text, word, n = self._text("ld", step)
        register = I16 if word == I8 else word
        tail, letters, policy = self._policy(n + 1)
        where, letter = self._operands(address)
        constraints = ",".join([f"={_LETTER[register]}"] * n)
        words: list[Value] = []
        for at in range(0, total, step):
            made = llvm.inline_asm(
                f"{text} {_names(0, n)}, {_place(n, at)}{tail};",
                f"{constraints},{letter}{letters},~{{memory}}", (where, *policy), (register,) * n,
            )  # fmt: skip
            words += made.results
        if word == I8:
            words = [arith.cast("trunci", w, I8) for w in words]
        return _as_type(words, type)

    def store(self, value: Value, address: Value, align: int) -> None:
        """Write what `load` would read."""
        total = _bits(value.type) // 8
        step = min(align, self.most, total)
        text, word, n = self._text("st", step)
        words = _as_words(value, word)
        letter = _LETTER[I16 if word == I8 else word]
        if word == I8:
            words = [arith.cast("extui", w, I16) for w in words]
        tail, letters, policy = self._policy(n + 1)
        where, first = self._operands(address)
        constraints = ",".join([first, *[letter] * n])
        for at in range(0, total, step):
            part, words = words[:n], words[n:]
            llvm.inline_asm(
                f"{text} {_place(0, at)}, {_names(1, n)}{tail};",
                f"{constraints}{letters},~{{memory}}", (where, *part, *policy), (),
            )  # fmt: skip


def _bits(type: Type) -> int:
    width: int = getattr(element_type(type), "width")  # noqa: B009 - every element type has it
    return width * (lanes(type) or 1)


def _names(first: int, count: int) -> str:
    names = ", ".join(f"${first + i}" for i in range(count))
    return f"{{{names}}}" if count > 1 else names


def _place(operand: int, offset: int) -> str:
    return f"[${operand}+{offset}]" if offset else f"[${operand}]"


def _as_type(words: list[Value], type: Type) -> Value:
    if len(words) == 1 and not isinstance(type, VectorType):
        return words[0] if words[0].type == type else arith.cast("bitcast", words[0], type)
    whole = type if isinstance(type, VectorType) else VectorType(1, type)
    out = vector.bitcast(vector.from_elements(words), whole)
    return out if whole is type else vector.extract(out, 0)


def _as_words(value: Value, word: Type) -> list[Value]:
    """The inverse of `_as_type`."""
    if value.type == word:
        return [value]
    count = _bits(value.type) // _bits(word)
    if not isinstance(value.type, VectorType):
        if count == 1:
            return [arith.cast("bitcast", value, word)]
        value = vector.from_elements([value])
    whole = vector.bitcast(value, VectorType(count, word))
    return [vector.extract(whole, i) for i in range(count)]
