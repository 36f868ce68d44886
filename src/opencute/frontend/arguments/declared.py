# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a call against the tensors that a function was compiled for.

In: what compilation knew (a fake tensor with symbols, or the marks of an example) and the tensor of
a call. Out: that tensor with the marks of the compiled one, or an error that names the argument,
the mode and what was expected. One `CallCheck` lives for one call: it remembers what symbols stand
for.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects are of any type; annotations cannot say more.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.lang.arguments.fakes import FakeTensor, Product
from opencute.lang.arguments.symbols import SymInt
from opencute.lang.external import ExternalTensor, from_dlpack
from opencute.runtime.phantom import is_phantom

__all__ = [
    "OTHER_LAYOUT", "OTHER_RANK", "OTHER_TYPE", "CallCheck", "Declared", "check_memory",
]  # fmt: skip

OTHER_TYPE = "convert the array (x.astype, x.to), or compile for this element type too"
OTHER_RANK = "reshape the array to as many modes, or compile for this number of modes too"
OTHER_LAYOUT = (
    "extents and strides that may differ are marked when the function is compiled: "
    "from_dlpack(x).mark_layout_dynamic(), or cute.sym_int() in a fake tensor; or compile again"
)


class CallCheck:
    """What is known of one call while its arguments are looked at.

    Args:
        function: the compiled function's name.
        make: `spec_of`, for arguments that may be anything.
        positions: positions of the run-time arguments, by name.
        describe: gives each argument as the signature in messages shows it.
    """

    def __init__(
        self,
        function: str,
        make: Callable[..., Any],
        positions: dict[str, int],
        describe: Callable[[CallCheck], list[str]],
    ) -> None:
        self.function = function
        self.make = make
        self.positions = positions
        self._describe = describe
        self.symbols: dict[int, tuple[int, str]] = {}
        """Values of symbols by identity, and where each was met first."""
        self._names: dict[int, str] = {}

    def name_of(self, symbol: SymInt) -> str:
        """A symbol as the signature shows it: n0, n1, ..."""
        return self._names.setdefault(id(symbol), f"n{len(self._names)}")

    def signature(self) -> str:
        """The compiled function with the types of its arguments."""
        self._names.clear()
        return f"{self.function}({', '.join(self._describe(self))})"

    def where(self, path: str) -> str:
        """``argument #1 when calling f(a: ..., b: ...)``."""
        name = path.split("[", 1)[0]
        number = self.positions.get(name)
        which = f"argument #{number}" if number is not None else f"argument {name!r}"
        return f"{which} when calling `{self.signature()}`"

    def mistyped(self, path: str, expected: str, obj: Any) -> ArgumentTypeError:
        """The error for an argument of another kind."""
        return ArgumentTypeError(
            f"argument {path!r} is of the wrong type: mismatched type on {self.where(path)}",
            code="OC2136", expected=expected, found=f"{type(obj).__name__}: {obj!r:.60}",
        )  # fmt: skip

    def error(
        self, path: str, what: str, code: str, expected: Any, found: Any, hint: str | None = None
    ) -> ArgumentError:
        """The error for an argument whose value does not fit."""
        name = path.split("[", 1)[0]
        kind = ArgumentTypeError if what.endswith("type") else ArgumentError
        return kind(
            f"argument {name!r} does not fit: {what} on {self.where(path)}", code=code,
            expected=expected, found=found, hint=hint,
        )  # fmt: skip

    def check_symbol(self, symbol: SymInt, n: int, where: str, path: str) -> None:
        """Note what a symbol stands for in this call.

        Raises:
            ArgumentError: it stood for another number, or its divisor does not divide this one.
        """
        known = self.symbols.setdefault(id(symbol), (n, where))
        if known[0] != n:
            expected = f"{known[0]}, to match {known[1]}"
            raise self.error(path, f"mismatched {where}", "OC2133", expected, n)
        _check_divisible(symbol.divisibility, n, where, self, path)
        if not -1 << symbol.width - 1 <= n < 1 << symbol.width - 1:
            raise self.error(
                path, f"{where} does not fit in {symbol.width} bits", "OC2113",
                f"less than 2^{symbol.width - 1}", n,
            )  # fmt: skip


class Declared:
    """A tensor that a function was compiled for, without its data.

    Args:
        t: the example or the fake.
    """

    __slots__ = ("align", "dtype", "fake", "promised", "shape", "state", "stride", "text")

    def __init__(self, t: ExternalTensor | FakeTensor) -> None:
        self.fake = isinstance(t, FakeTensor)
        self.dtype: Any = t.element_type
        self.align = t.assumed_align
        self.state = t.marked()
        # With symbols where there are some, so that equal ones can be compared.
        self.shape, self.stride = (t.shape, t.stride) if isinstance(t, FakeTensor) else self.state
        self.promised = t.facts() if isinstance(t, FakeTensor) else None

    def describe(self, call: CallCheck) -> str:
        """``Tensor([n0, 64], float16)``."""

        def mode(n: Any) -> str:
            return (
                call.name_of(n) if isinstance(n, SymInt) else "?" if isinstance(n, Dyn) else str(n)
            )

        name = self.dtype.dtype.numpy_name or self.dtype
        return f"Tensor([{', '.join(map(mode, self.shape))}], {name})"

    def bind(self, obj: Any, call: CallCheck, path: str) -> ExternalTensor:
        """The tensor of a call with the marks of the compiled one.

        Raises:
            ArgumentError: it is not what was declared.
        """
        t = self._tensor(obj, call, path)
        self._check_shape(t, call, path)
        self._check_strides(t, call, path)
        if self.fake and t.data_ptr % self.align:
            raise call.error(
                path, "misaligned data", "OC2135", f"an address that {self.align} bytes divide",
                f"0x{t.data_ptr:x}",
            )  # fmt: skip
        t.state = self.state
        t.promised = self.promised
        return t

    def _tensor(self, obj: Any, call: CallCheck, path: str) -> ExternalTensor:
        if isinstance(obj, FakeTensor):
            obj.dynamic_values()
        if isinstance(obj, ExternalTensor):
            t = ExternalTensor(obj.array, owner=obj.owner)
            t.assumed_align = obj.assumed_align
            if obj.element_type is not t.element_type:
                t.element_type = obj.element_type
        else:
            t = from_dlpack(obj)
        if t.element_type is not self.dtype:
            raise call.error(
                path, "mismatched element type", "OC2131", self._text(call), t.type, OTHER_TYPE
            )
        if len(t.shape) != len(self.shape):
            raise call.error(
                path, "mismatched number of modes", "OC2131", self._text(call), t.type, OTHER_RANK
            )
        return t

    def _text(self, call: CallCheck) -> str:
        return f"{self.describe(call)}, layout {LayoutAttr(*self.state).text()}"

    def _check_shape(self, t: ExternalTensor, call: CallCheck, path: str) -> None:
        for i, (want, n) in enumerate(zip(self.shape, t.shape, strict=True)):
            where = f"{path}.shape[{i}]"
            if isinstance(want, SymInt):
                call.check_symbol(want, n, where, path)
            elif isinstance(want, Dyn):
                _check_divisible(want.div, n, where, call, path)
            elif want != n:
                raise call.error(
                    path, f"mismatched {where}", "OC2131", f"{want} of {self._text(call)}",
                    f"{n} of {t.type}", OTHER_LAYOUT,
                )  # fmt: skip

    def _check_strides(self, t: ExternalTensor, call: CallCheck, path: str) -> None:
        if 0 in t.shape:
            return  # nothing is read or written
        for i, (want, d) in enumerate(zip(self.stride, t.stride, strict=True)):
            if t.shape[i] == 1:
                continue  # a step that nothing takes
            where = f"{path}.stride[{i}]"
            if isinstance(want, SymInt):
                call.check_symbol(want, d, where, path)
            elif isinstance(want, Product):
                value = math.prod(
                    call.symbols[id(f)][0] if isinstance(f, SymInt) else f for f in want.factors
                )
                if value != d:
                    raise call.error(
                        path, f"mismatched {where}", "OC2134", f"{value}: a compact tensor", d
                    )
            elif isinstance(want, Dyn):
                _check_divisible(want.div, d, where, call, path)
            elif want != d:
                raise call.error(
                    path, f"mismatched {where}", "OC2131", f"{want} of {self._text(call)}",
                    f"{d} of {t.type}", OTHER_LAYOUT,
                )  # fmt: skip


def _check_divisible(div: int, n: int, where: str, call: CallCheck, path: str) -> None:
    if n % div:
        raise call.error(path, f"invalid {where}", "OC2138", f"to be divisible by {div}", n)


def check_memory(t: ExternalTensor) -> None:
    """Refuse a tensor that has a shape only.

    Raises:
        ArgumentError: it was made without memory.
    """
    if is_phantom(t.array):
        raise ArgumentError(
            "the tensor has no memory", code="OC2144", found=t.type,
            hint="it can be compiled for with cute.compile; call the result with a real one",
        )  # fmt: skip
