# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.extern`: device functions of other compilers, linked in as PTX or LLVM bitcode.

::

    @cute.extern(ptx=Path("library.ptx"))         # .visible .func (.param .b32 r) scale_add(...)
    def scale_add(a: cutlass.Float32, b: cutlass.Float32) -> cutlass.Float32:
        return 2 * a + b                          # NumPy arrays: what the simulator computes

    @cute.kernel
    def kernel(t: cute.Tensor):
        t[0] = scale_add(t[0], t[1])

Functions are called by the ABI of CUDA's device functions; parameters and results have 32 or 64
bits, or are pointers (``cute.Pointer``).
"""

# pyright: reportUnknownMemberType=false
# Annotations are of any type.

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.base.stand_ins import STAND_INS
from opencute.dialects.asm import extern as dialect
from opencute.ir.core import Value
from opencute.lang.numbers import NumericMeta, as_numeric, class_of
from opencute.lang.pointers import Pointer

__all__ = ["ExternFunction", "extern"]

_HEADER = re.compile(r"^\s*\.(version|target|address_size)\b.*$", re.MULTILINE)


def extern(
    *, ptx: str | Path = "", bitcode: bytes | Path = b"", name: str | None = None,
    pure: bool = False,
) -> Callable[[Callable[..., Any]], ExternFunction]:  # fmt: skip
    """Decorate a declaration of a device function: annotations give the types.

    Args:
        ptx: PTX that defines it: text, or a file.
        bitcode: LLVM bitcode for NVPTX that defines it instead: bytes, or a file.
        name: its symbol; the declaration's name when omitted.
        pure: whether it has no effect besides its result, so that calls may be moved and merged.

    Raises:
        ArgumentError: OC2238, nothing or too much defines it, or not this symbol.
        TypeMismatchError: OC1613, a parameter or the result has no annotation that can be passed.
    """
    if bool(ptx) == bool(bitcode):
        raise ArgumentError(
            "extern() takes PTX or bitcode", code="OC2238", expected="one of ptx= and bitcode=",
        )  # fmt: skip
    text = _text(ptx) if ptx else _from_bitcode(bitcode)
    return lambda fn: ExternFunction(fn, name or fn.__name__, text, pure)


def _text(ptx: str | Path) -> str:
    if isinstance(ptx, Path) or ("\n" not in ptx and ptx.endswith(".ptx")):
        ptx = Path(ptx).read_text(encoding="utf-8")
    return _HEADER.sub("", ptx).strip() + "\n"


@functools.lru_cache(maxsize=16)
def _from_bitcode(bitcode: bytes | Path) -> str:
    from opencute.native.nvptx import bitcode_to_ptx

    data = bitcode.read_bytes() if isinstance(bitcode, Path) else bitcode
    return _text(bitcode_to_ptx(data) + "\n")


class ExternFunction:
    """A device function that kernels call; made by `extern`.

    Args:
        fn: the declaration; its body is what the simulator computes with NumPy arrays.
        name: the symbol.
        library: PTX that defines it.
        pure: whether it has no effect besides its result.
    """

    def __init__(self, fn: Callable[..., Any], name: str, library: str, pure: bool) -> None:
        if not re.search(rf"\.func\b[^;{{]*\b{re.escape(name)}\b", library):
            raise ArgumentError(
                f"the library does not define {name!r}", code="OC2238",
                found=", ".join(re.findall(r"\.func\s*(?:\([^)]*\))?\s*([\w$]+)", library)),
            )  # fmt: skip
        self.fn, self.name, self.library, self.pure = fn, name, library, pure
        self.signature = inspect.signature(fn)
        hints = typing.get_type_hints(fn)
        self.types = {n: self._type(n, hints.get(n)) for n in self.signature.parameters}
        result = hints.get("return")
        self.result = None if result in (None, type(None)) else self._type("the result", result)
        functools.update_wrapper(typing.cast("Any", self), fn)
        STAND_INS[name] = fn

    def _type(self, what: str, annotation: Any) -> Any:
        pointer = inspect.isclass(annotation) and issubclass(annotation, Pointer)
        fits = isinstance(annotation, NumericMeta) and annotation.width in (32, 64)
        if not (fits or (pointer and what != "the result")):
            raise TypeMismatchError(
                f"{self.name}: {what} is of no type that device functions take", code="OC1613",
                expected="a numeric class of 32 or 64 bits, or cute.Pointer", found=annotation,
            )  # fmt: skip
        return annotation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeMismatchError(f"{self.name}(): {e}", code="OC1268") from None
        bound.apply_defaults()
        values = [self._value(n, bound.arguments[n]) for n in self.signature.parameters]
        results = [] if self.result is None else [self.result.mlir_type]
        op = dialect.extern(self.name, self.library, values, results, pure=self.pure)
        op.verify()
        return None if self.result is None else self.result(op.results[0])

    def _value(self, name: str, given: Any) -> Value:
        want = self.types[name]
        if not isinstance(want, NumericMeta):
            if not isinstance(given, Pointer):
                raise TypeMismatchError(
                    f"{self.name}: {name} is no pointer", code="OC1210", found=str(given)
                )
            return given.value
        return as_numeric(given).to(class_of(want)).ir_value()
