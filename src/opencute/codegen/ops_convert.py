# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How ``cute.convert`` is printed, where the hardware converts.

``cute.convert %v : vector<4xf32> -> vector<4xf8E4M3FN>`` becomes two instructions
``cvt.rn.satfinite.e4m3x2.f32``, each of which takes two lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.base.errors import ToolchainError
from opencute.codegen.emitter import Emitter, OpPrinter
from opencute.codegen.llvm_types import llvm_type
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op
from opencute.ir.types import F16, F32, FloatType, element_type, lanes

__all__ = ["CONVERT"]

Pair = tuple[str, str]
_PAIR = {
    "f8E4M3FN": "e4m3x2", "f8E5M2": "e5m2x2", "f6E3M2FN": "e3m2x2", "f6E2M3FN": "e2m3x2",
    "f4E2M1FN": "e2m1x2",
}  # fmt: skip


def _convert(e: Emitter, op: Op) -> None:
    src, dst = element_type(op.operands[0].type), element_type(op.results[0].type)
    assert isinstance(src, FloatType) and isinstance(dst, FloatType)
    rounding, saturate = op.attributes["rounding"], op.attributes["saturate"]
    assert isinstance(rounding, StringAttr) and isinstance(saturate, IntAttr)
    if src == F32 and dst.name in _PAIR and rounding.value == "rn" and saturate.value:
        if dst.width == 8 and (lanes(op.results[0].type) or 1) % 4 == 0:
            _words(e, op, _PAIR[dst.name])
            return
        two = _to_f4 if dst.width == 4 else _to_bytes
        _pairs(e, op, lambda e, name, pair: two(e, name, pair, dst.width), _PAIR[dst.name])
    elif src.name in _PAIR and dst == F16:
        _pairs(e, op, _f4_to_f16 if src.width == 4 else _to_f16, _PAIR[src.name])
    elif src == F32 and dst.name in _SCALAR and not saturate.value:
        _scalar(e, op, rounding.value, _SCALAR[dst.name])
    else:
        raise ToolchainError(
            f"no instruction converts {src} to {dst} with {rounding.value}",
            code="OC1528",
            loc=op.loc,
        )


def _elements(e: Emitter, op: Op) -> list[str]:
    value = op.operands[0]
    n = lanes(value.type)
    if n is None:
        return [e.ref(value)]
    return [e.assign(f"extractelement {e.typed(value)}, i32 {i}") for i in range(n)]


def _define(e: Emitter, op: Op, parts: list[str]) -> None:
    result = op.results[0]
    if lanes(result.type) is None:
        e.names[result] = parts[0]
        return
    out, type = "poison", llvm_type(result.type)
    element = llvm_type(element_type(result.type))
    for i, part in enumerate(parts):
        out = e.assign(f"insertelement {type} {out}, {element} {part}, i32 {i}")
    e.names[result] = out


def _pairs(e: Emitter, op: Op, two: Callable[[Emitter, str, Pair], list[str]], name: str) -> None:
    """Convert two lanes at a time; a single one is converted together with itself."""
    parts = _elements(e, op)
    out: list[str] = []
    for i in range(0, len(parts), 2):
        out += two(e, name, (parts[i], parts[min(i + 1, len(parts) - 1)]))
    _define(e, op, out[: len(parts)])


def _words(e: Emitter, op: Op, name: str) -> None:
    """Four formats of 8 bits to a word: the second conversion is merged with the first."""
    parts = _elements(e, op)
    one = f"cvt.rn.satfinite.{name}.f32"
    text = f"{{ .reg .b16 a, b; {one} a, $2, $1; {one} b, $4, $3; mov.b32 $0, {{a, b}}; }}"
    out, type = "poison", f"<{len(parts) // 4} x i32>"
    for i in range(0, len(parts), 4):
        four = ", ".join(f"float {x}" for x in parts[i : i + 4])
        word = e.assign(f'call i32 asm "{text}", "=r,f,f,f,f"({four})')
        out = e.assign(f"insertelement {type} {out}, i32 {word}, i32 {i // 4}")
    result = op.results[0]
    e.names[result] = e.assign(f"bitcast {type} {out} to {llvm_type(result.type)}")


def _to_bytes(e: Emitter, name: str, pair: Pair, width: int) -> list[str]:
    """Two formats of 8 or 6 bits, each in a byte of its own."""
    text = f"cvt.rn.satfinite.{name}.f32 $0, $1, $2;"
    both = e.assign(f'call i16 asm "{text}", "=h,f,f"(float {pair[1]}, float {pair[0]})')
    low = e.assign(f"trunc i16 {both} to i{width}")
    shifted = e.assign(f"lshr i16 {both}, 8")
    return [low, e.assign(f"trunc i16 {shifted} to i{width}")]


def _to_f4(e: Emitter, name: str, pair: Pair, width: int) -> list[str]:
    """Two formats of 4 bits in one byte; asm has no byte registers, so it is widened inside."""
    text = f"{{ .reg .b8 b; cvt.rn.satfinite.{name}.f32 b, $1, $2; mov.b16 $0, {{b, b}}; }}"
    both = e.assign(f'call i16 asm "{text}", "=h,f,f"(float {pair[1]}, float {pair[0]})')
    low = e.assign(f"trunc i16 {both} to i4")
    shifted = e.assign(f"lshr i16 {both}, 4")
    return [low, e.assign(f"trunc i16 {shifted} to i4")]


def _halves(e: Emitter, packed: str) -> list[str]:
    halves = e.assign(f"bitcast i32 {packed} to <2 x half>")
    return [e.assign(f"extractelement <2 x half> {halves}, i32 {i}") for i in range(2)]


def _to_f16(e: Emitter, name: str, pair: Pair) -> list[str]:
    width = 6 if name in ("e3m2x2", "e2m3x2") else 8
    low, high = (e.assign(f"zext i{width} {p} to i16") for p in pair)
    shifted = e.assign(f"shl i16 {high}, 8")
    both = e.assign(f"or i16 {shifted}, {low}")
    return _halves(e, e.assign(f'call i32 asm "cvt.rn.f16x2.{name} $0, $1;", "=r,h"(i16 {both})'))


def _f4_to_f16(e: Emitter, name: str, pair: Pair) -> list[str]:
    low, high = (e.assign(f"zext i4 {p} to i16") for p in pair)
    shifted = e.assign(f"shl i16 {high}, 4")
    both = e.assign(f"or i16 {shifted}, {low}")
    text = f"{{ .reg .b8 b; .reg .b8 z; mov.b16 {{b, z}}, $1; cvt.rn.f16x2.{name} $0, b; }}"
    return _halves(e, e.assign(f'call i32 asm "{text}", "=r,h"(i16 {both})'))


# name of the type in PTX, register constraint, type of the register
_SCALAR = {
    "tf32": ("tf32", "r", "i32"), "f16": ("f16", "h", "i16"), "bf16": ("bf16", "h", "i16"),
}  # fmt: skip


def _scalar(e: Emitter, op: Op, rounding: str, to: tuple[str, str, str]) -> None:
    name, letter, register = to
    text = f"cvt.{rounding}.{name}.f32 $0, $1;"
    element = llvm_type(element_type(op.results[0].type))
    out: list[str] = []
    for part in _elements(e, op):
        bits = e.assign(f'call {register} asm "{text}", "={letter},f"(float {part})')
        out.append(e.assign(f"bitcast {register} {bits} to {element}"))
    _define(e, op, out)


CONVERT: dict[str, OpPrinter] = {"cute.convert": _convert}
