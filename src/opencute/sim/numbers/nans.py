# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which bits a NaN has when somebody looks.

On the hardware, arithmetic on f16, bf16 and f32 gives one NaN, 0x7fff or 0x7fffffff, whatever went
in (PTX ISA, "Floating Point Instructions"); data that is only moved keeps its bits. NumPy keeps
signs and payloads here and there. So values that come from arithmetic are found before the function
runs, and their NaNs are set to the hardware's where their bits can be seen: where they are stored
or read as integers. f64 keeps what the host gives.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.ir.core import Block, Op, Value
from opencute.ir.types import FloatType, element_type
from opencute.sim.values import dtype_of, unsigned_dtype

__all__ = ["OBSERVED", "Computed", "canonical"]

OBSERVED = {"arith.bitcast": 0, "vector.bitcast": 0, "cute.store": 0, "cute.tile_store": 0,
            "llvm.store": 0}  # fmt: skip
"""Operations that show the bits of an operand, and which."""

_MOVES = ("arith.select", "arith.negf", "math.absf", "math.copysign")
_ARITHMETIC = ("arith", "math")


def _is_narrow(value: Value) -> bool:
    element = element_type(value.type)
    return isinstance(element, FloatType) and element.name in ("f16", "bf16", "f32")


class Computed:
    """The float values of a function that come from arithmetic, at least on some way."""

    def __init__(self, body: Block) -> None:
        self.values: set[Value] = set()
        count = -1
        while count != len(self.values):
            count = len(self.values)
            self._block(body)

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def _flow(self, sources: Any, targets: Any) -> None:
        for source, target in zip(sources, targets, strict=True):
            if source in self.values:
                self.values.add(target)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.regions:
                self._control(op)
            elif op.results and _is_narrow(op.results[0]):
                self._plain(op)

    def _plain(self, op: Op) -> None:
        moves = op.name in _MOVES or op.dialect == "vector"
        if (
            op.name == "vector.reduction"
            or (
                op.dialect in _ARITHMETIC
                and not moves
                and op.name not in ("arith.constant", "arith.bitcast")
            )
            or (
                moves and op.name != "vector.bitcast" and any(v in self.values for v in op.operands)
            )
        ):
            self.values.add(op.results[0])

    def _control(self, op: Op) -> None:
        for region in op.regions:
            self._block(region.block)
        if op.name == "scf.if":
            for region in op.regions:
                self._flow(region.block.terminator.operands, op.results)
        elif op.name == "scf.for":
            body = op.regions[0].block
            for sources in (op.operands[3:], body.terminator.operands):
                self._flow(sources, body.args[1:])
                self._flow(sources, op.results)
        elif op.name == "scf.while":
            before, after = (r.block for r in op.regions)
            self._flow(op.operands, before.args)
            self._flow(after.terminator.operands, before.args)
            self._flow(before.terminator.operands[1:], after.args)
            self._flow(before.terminator.operands[1:], op.results)


def canonical(value: Value) -> Any:
    """A function that sets the NaNs of a value to the hardware's."""
    dtype = dtype_of(value.type)
    bits = unsigned_dtype(dtype)
    nan = np.array((1 << (dtype.itemsize * 8 - 1)) - 1, bits).view(dtype)
    wide = dtype.itemsize == 4
    infinity = bits.type({"f16": 0x7C00, "bf16": 0x7F80}.get(str(element_type(value.type)), 0))

    def run(x: Any) -> Any:
        if type(x) is not np.ndarray:
            return nan[()] if x != x else x
        bad = x != x if wide else (x.view(bits) & bits.type(0x7FFF)) > infinity
        return np.where(bad, nan, x) if bad.any() else x

    return run
