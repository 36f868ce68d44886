# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How each elementary function is computed on the GPU, and how far its result may be off.

In: an operation's name, an element type, whether the fast variant is asked for. Out: a `MathFn`::

    >>> math_fn("math.exp", "f32", fast=False)
    MathFn(op='math.exp', type='f32', fast=False, kind='libdevice', text='__nv_expf', ...)

The code generator and the comparison of simulator and GPU read the same rows. Bounds are from the
CUDA programming guide, "Mathematical Functions", and, for approximations, from the PTX ISA. A
bound of 0 means correctly rounded. f16 and bf16 are computed in f32 and rounded once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from opencute.base.errors import ArgumentError

__all__ = ["KINDS", "MATH_FNS", "MathFn", "math_fn"]

Kind = Literal["llvm", "ptx", "libdevice", "via_f32", "steps"]
KINDS: tuple[Kind, ...] = ("llvm", "ptx", "libdevice", "via_f32", "steps")


@dataclass(frozen=True)
class MathFn:
    """One function for one element type.

    Args:
        op: the operation, ``math.exp``.
        type: element type, ``f32``.
        fast: the variant with ``fastmath``.
        kind: ``llvm`` an intrinsic that takes vectors, ``ptx`` an instruction, ``libdevice`` a
            function of NVIDIA's library, ``via_f32`` computed in f32, ``steps`` other rows of this
            table, composed by the pass `expand`.
        text: the intrinsic's stem, the instruction, the function.
        ulp: largest error in units in the last place of the result.
        note: where the bound does not hold, or what it is instead.
    """

    op: str
    type: str
    fast: bool
    kind: Kind
    text: str = ""
    ulp: float = 0.0
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.ulp < 0 or self.ulp > 1 << 20:
            raise ArgumentError(f"bad row for {self.op} {self.type}", code="OC2914")
        if (self.kind in ("llvm", "ptx", "libdevice")) != bool(self.text):
            raise ArgumentError(f"row {self.op} {self.type} names nothing", code="OC2914")


# name: (libdevice stem, ulp for f32, ulp for f64)
_LIBDEVICE: dict[str, tuple[str, float, float]] = {
    "math.exp": ("exp", 2, 1),  # 1.67 ulp measured on an H200 near -16.96
    "math.exp2": ("exp2", 2, 1),
    "math.expm1": ("expm1", 1, 1),
    "math.log": ("log", 1, 1),
    "math.log2": ("log2", 1, 1),
    "math.log10": ("log10", 2, 1),
    "math.log1p": ("log1p", 1, 1),
    "math.sin": ("sin", 2, 2),
    "math.cos": ("cos", 2, 2),
    "math.tan": ("tan", 4, 2),
    "math.asin": ("asin", 2, 2),
    "math.acos": ("acos", 2, 2),
    "math.atan": ("atan", 2, 2),
    "math.sinh": ("sinh", 3, 2),
    "math.cosh": ("cosh", 2, 1),
    "math.tanh": ("tanh", 2, 1),
    "math.asinh": ("asinh", 3, 3),
    "math.acosh": ("acosh", 4, 3),
    "math.atanh": ("atanh", 3, 2),
    "math.cbrt": ("cbrt", 1, 1),
    "math.erf": ("erf", 2, 2),
    "math.erfc": ("erfc", 4, 5),
    "math.round": ("round", 0, 0),
    "math.atan2": ("atan2", 3, 2),
    "math.powf": ("pow", 4, 2),
    "arith.remf": ("fmod", 0, 0),
}

# name: intrinsic; correctly rounded or exact in every type
_NATIVE = {
    "math.sqrt": "sqrt",
    "math.absf": "fabs",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "math.trunc": "trunc",
    "math.roundeven": "roundeven",
    "math.copysign": "copysign",
    "math.fma": "fma",
}

# LLVM selects these for f16 and bf16 too.
_NATIVE_NARROW = ("math.absf", "math.copysign", "math.fma")

_RANGE = "absolute error for arguments in [-pi, pi]; grows outside"

_FAST_F32: tuple[MathFn, ...] = (
    MathFn("math.exp2", "f32", True, "ptx", "ex2.approx.ftz.f32", 2, "subnormals are flushed"),
    MathFn("math.log2", "f32", True, "ptx", "lg2.approx.ftz.f32", 4, "2^-22 absolute in [0.5, 2]"),
    MathFn("math.sin", "f32", True, "ptx", "sin.approx.ftz.f32", 64, f"2^-20.9 {_RANGE}"),
    MathFn("math.cos", "f32", True, "ptx", "cos.approx.ftz.f32", 64, f"2^-20.9 {_RANGE}"),
    MathFn("math.tanh", "f32", True, "ptx", "tanh.approx.f32", 8192, "2^-11 relative"),
    MathFn("math.rsqrt", "f32", True, "ptx", "rsqrt.approx.ftz.f32", 2, "subnormals are flushed"),
    MathFn("math.sqrt", "f32", True, "ptx", "sqrt.approx.ftz.f32", 2, "subnormals are flushed"),
    MathFn("arith.divf", "f32", True, "ptx", "div.full.f32", 2),
    MathFn("math.exp", "f32", True, "steps", "", 64, "2 + |1.173 x| ulp"),
    MathFn("math.log", "f32", True, "steps", "", 4, "2^-21.4 absolute in [0.5, 2]"),
    MathFn("math.log10", "f32", True, "steps", "", 4, "2^-22 absolute in [0.5, 2]"),
    MathFn("math.tan", "f32", True, "steps", "", 128, "the quotient of fast sin and fast cos"),
    MathFn("math.powf", "f32", True, "steps", "", 1 << 12, "grows with |y log2 x|"),
)


def _rows() -> Iterator[MathFn]:
    for op, (stem, single, double) in _LIBDEVICE.items():
        yield MathFn(op, "f32", False, "libdevice", f"__nv_{stem}f", single)
        yield MathFn(op, "f64", False, "libdevice", f"__nv_{stem}", double)
    for op, stem in _NATIVE.items():
        for type in ("f32", "f64"):
            yield MathFn(op, type, False, "llvm", stem)
        if op in _NATIVE_NARROW:
            for type in ("f16", "bf16"):
                yield MathFn(op, type, False, "llvm", stem)
    yield MathFn("math.rsqrt", "f32", False, "ptx", "rsqrt.approx.f32", 2)
    yield MathFn("math.rsqrt", "f64", False, "libdevice", "__nv_rsqrt", 1)
    yield from _FAST_F32


def _table() -> dict[tuple[str, str, bool], MathFn]:
    out = {(f.op, f.type, f.fast): f for f in _rows()}
    exact_after_rounding = {*_NATIVE, "math.round", "arith.remf", "arith.divf"}
    for f in list(out.values()):
        for narrow in ("f16", "bf16"):
            key = (f.op, narrow, f.fast)
            if f.type == "f32" and key not in out:
                ulp = 0.0 if f.op in exact_after_rounding and not f.fast else 1.0
                ulp = max(ulp, f.ulp / 8192) if f.ulp > 1024 else ulp
                out[key] = replace(f, type=narrow, kind="via_f32", text="", ulp=ulp)
    return out


MATH_FNS: dict[tuple[str, str, bool], MathFn] = _table()


def math_fn(op: str, type: str, *, fast: bool = False) -> MathFn | None:
    """The row of a function: the exact one where there is no fast one; None for what is none."""
    if fast and (op, type, True) in MATH_FNS:
        return MATH_FNS[op, type, True]
    return MATH_FNS.get((op, type, False))
