# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of a compiled function as data, and argument specs from that data.

In: the specs that compilation made. Out: what JSON can hold; `Examples` gives fakes from it, of
which `spec_of` makes specs that check calls like the original ones::

    {"kind": "tensor", "dtype": "f32", "shape": [{"symbol": 0, "width": 32, "div": 1}], ...}

The facts that code is specialised on (alignment, divisors of strides) are part of it.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Descriptions are nested JSON values; annotations cannot say more.

from __future__ import annotations

import typing
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects.cute import Dyn
from opencute.frontend.arguments.kinds import SymbolSpec
from opencute.frontend.signature import (
    EnvStreamSpec,
    PartsSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StaticSpec,
    StreamSpec,
    TensorSpec,
)
from opencute.lang.arguments.fakes import FakeStream, FakeTensor, Product
from opencute.lang.arguments.symbols import SymInt
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.numbers import NUMERIC_CLASSES
from opencute.lang.pointers import AddressSpace

__all__ = ["Examples", "Parameters"]


class Parameters:
    """Describes arguments one after the other; equal symbols get equal numbers."""

    def __init__(self) -> None:
        self._symbols: dict[int, int] = {}

    def describe(self, spec: Spec, name: str) -> dict[str, Any]:
        """An argument as data.

        Raises:
            ArgumentError: OC2147, arguments of this kind cannot be exported.
        """
        if isinstance(spec, TensorSpec):
            return self._tensor(spec)
        if isinstance(spec, SymbolSpec):
            return {"kind": "symbol", "value": self._mode(spec.symbol)}
        if isinstance(spec, ScalarSpec):
            return {"kind": "scalar", "dtype": spec.cls.dtype.name}
        if isinstance(spec, PointerSpec):
            return {
                "kind": "pointer", "dtype": spec.dtype.dtype.name, "space": spec.space.name,
                "align": spec.type.align,
            }  # fmt: skip
        if isinstance(spec, StreamSpec):
            return {"kind": "stream"}
        if isinstance(spec, EnvStreamSpec):
            return {"kind": "env_stream"}
        if isinstance(spec, StaticSpec):
            return {"kind": "none" if spec.value is None else "static"}
        if isinstance(spec, PartsSpec) and issubclass(spec.kind, tuple | list):
            items = [self.describe(s, f"{name}[{i}]") for i, s in enumerate(spec.items)]
            return {"kind": "tuple", "items": items}
        raise ArgumentError(
            f"argument {name!r} cannot be exported", code="OC2147",
            expected="tensors, numbers, pointers, streams and tuples of them",
            found=getattr(getattr(spec, "kind", None), "__name__", type(spec).__name__),
        )  # fmt: skip

    def _tensor(self, spec: TensorSpec) -> dict[str, Any]:
        declared = spec.declared
        shape = [self._mode(n) for n in declared.shape]
        facts = iter(spec.facts[1:])
        strides: list[Any] = []
        for leaf, d in zip(declared.stride, spec.base[3][1], strict=True):
            div = next(facts) if isinstance(d, Dyn) else 1
            strides.append(self._mode(leaf, div))
        return {
            "kind": "tensor",
            "dtype": spec.dtype.dtype.name,
            "space": spec.space.name,
            "align": spec.facts[0],
            "shape": shape,
            "stride": strides,
        }

    def _mode(self, n: Any, div: int = 1) -> Any:
        """An extent or stride: an integer, a symbol, or a product of such."""
        if isinstance(n, SymInt):
            number = self._symbols.setdefault(id(n), len(self._symbols))
            return {"symbol": number, "width": n.width, "div": n.divisibility}
        if isinstance(n, Dyn):  # a mark: a symbol of its own
            number = len(self._symbols)
            self._symbols[-1 - number] = number  # no identity is negative
            return {"symbol": number, "width": n.width, "div": max(n.div, div)}
        if isinstance(n, Product):
            return {"factors": [self._mode(f) for f in n.factors], "width": n.width}
        return n


class Examples:
    """Fakes from descriptions, one after the other; equal numbers give the same symbol."""

    def __init__(self) -> None:
        self._symbols: dict[int, SymInt] = {}

    def example(self, data: dict[str, Any]) -> Any:
        """What `spec_of` makes a spec from that is like the described one."""
        kind = data["kind"]
        if kind == "tensor":
            shape, stride = (tuple(map(self._mode, data[k])) for k in ("shape", "stride"))
            space = AddressSpace[data["space"]]
            return FakeTensor(NUMERIC_CLASSES[data["dtype"]], shape, stride, space, data["align"])
        if kind == "symbol":
            return self._mode(data["value"])
        if kind == "scalar":
            cls: Any = NUMERIC_CLASSES[data["dtype"]]
            return cls(0)
        if kind == "pointer":
            dtype, space = NUMERIC_CLASSES[data["dtype"]], AddressSpace[data["space"]]
            return ExternalPointer(dtype, 0, space, data["align"])
        if kind in ("stream", "env_stream"):
            return FakeStream(kind == "env_stream")
        if kind == "tuple":
            return tuple(self.example(item) for item in typing.cast("list[Any]", data["items"]))
        return None

    def _mode(self, n: Any) -> Any:
        if isinstance(n, int):
            return n
        if "symbol" in n:
            new = SymInt(n["width"], divisibility=n["div"])
            return self._symbols.setdefault(n["symbol"], new)
        return Product(tuple(map(self._mode, n["factors"])), n["width"])
