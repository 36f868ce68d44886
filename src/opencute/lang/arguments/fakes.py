# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors and streams without data, to compile for.

In: an element type, extents and strides with symbols where calls differ. Out: what `cute.compile`
takes in the place of an argument. A call of the compiled function is checked against it::

    m = cute.sym_int64()
    fake = make_fake_compact_tensor(cutlass.Float16, (m, 64), stride_order=(1, 0))
    cute.compile(fn, fake)(torch_tensor)
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
# Nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from opencute.base.errors import ArgumentError
from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.lang.arguments.symbols import SymInt
from opencute.lang.numbers import NumericMeta
from opencute.lang.pointers import AddressSpace, element_bits
from opencute.lang.tensors import Tensor
from opencute.layout.ints import is_sequence

__all__ = [
    "FakeStream",
    "FakeTensor",
    "Product",
    "make_fake_compact_tensor",
    "make_fake_stream",
    "make_fake_tensor",
]

_MAX_DIVISIBILITY = 1 << 30


class Product(NamedTuple):
    """A stride that follows from the extents of a compact tensor.

    Args:
        factors: extents, integers or symbols, whose product it is.
        width: bits that compiled code passes it in.
    """

    factors: tuple[Any, ...]
    width: int

    @property
    def divisibility(self) -> int:
        """What divides it in every call."""
        out = 1
        for f in self.factors:
            out *= f.divisibility if isinstance(f, SymInt) else f
        return max(min(out, _MAX_DIVISIBILITY), 1)

    def __str__(self) -> str:
        return str(SymInt(self.width, divisibility=self.divisibility))


class FakeTensor(Tensor):
    """A tensor without data.

    Args:
        dtype: numeric class of the elements.
        shape: extents: integers and `SymInt`, one per mode of the frameworks' tensors.
        stride: in elements; a `Product` follows from extents.
        memspace: where calls' tensors lie.
        assumed_align: alignment in bytes of every tensor that is passed in this place.

    Raises:
        ArgumentError: an extent or stride that is no integer, or different numbers of them.
    """

    __slots__ = ("assumed_align", "dtype", "memspace", "shape", "stride")
    __hash__ = object.__hash__

    def __init__(
        self,
        dtype: Any,
        shape: Any,
        stride: Any,
        memspace: AddressSpace | None = None,
        assumed_align: int | None = None,
    ) -> None:
        if not isinstance(dtype, NumericMeta) or not hasattr(dtype, "dtype"):
            raise ArgumentError(
                "a fake tensor's elements are of a numeric class", code="OC2119",
                expected="cutlass.Float16, cutlass.Int32, ...", found=repr(dtype),
            )  # fmt: skip
        self.dtype: Any = dtype
        self.shape = _checked(shape, "shape", 0)
        self.stride = _checked(stride, "stride", None)
        if len(self.shape) != len(self.stride):
            raise ArgumentError(
                "shape and stride have different lengths", code="OC2119", expected=self.shape,
                found=self.stride,
            )  # fmt: skip
        self.memspace = AddressSpace.gmem if memspace is None else memspace
        align = max(element_bits(dtype) // 8, 1) if assumed_align is None else assumed_align
        if not hasattr(align, "__index__") or align < 1 or align & (align - 1):
            raise ArgumentError("assumed_align must be a power of two", code="OC2101", found=align)
        self.assumed_align = operator.index(align)

    element_type = property(lambda self: self.dtype)

    @property
    def leading_dim(self) -> int | None:
        """The mode whose stride is 1; None if there is none, or several of them."""
        ones = [i for i, d in enumerate(self.stride) if d == 1]
        return ones[0] if len(ones) == 1 else None

    @property
    def type(self) -> str:
        """The type that the tensor has in compiled code."""
        natural = max(element_bits(self.dtype) // 8, 1)
        align = f", align<{self.assumed_align}>" if self.assumed_align != natural else ""
        name = self.dtype.dtype.name
        return f"tensor<ptr<{name}, {self.memspace.name}{align}> o {self.layout_attr().text()}>"

    def __str__(self) -> str:
        return f"FakeTensor<{self.type}>"

    __repr__ = __str__

    # ---- what compilation needs, under the names that ExternalTensor has
    def marked(self) -> tuple[Any, Any]:
        """Shape and stride with the integers that are dynamic as `Dyn`."""
        return _dyns(self.shape), _dyns(self.stride)

    def layout_attr(self) -> LayoutAttr:
        """The layout with the integers that are dynamic."""
        return LayoutAttr(*self.marked())

    def facts(self) -> tuple[int, ...]:
        """What code may rely on beyond the layout: only what was declared."""
        return (self.assumed_align, *(d.div for d in self.marked()[1] if isinstance(d, Dyn)))

    def dynamic_values(self) -> list[int]:
        """There are none; raises ArgumentError."""
        return self._no_data()

    # ---- what it does not have
    def _no_data(self, *_: Any) -> Any:
        raise ArgumentError(
            "a fake tensor has no data", code="OC2144", found=str(self),
            hint="compile for it with cute.compile, and call the result with a framework's tensor",
        )  # fmt: skip

    data_ptr = property(_no_data)
    iterator = property(_no_data)
    load = store = fill = __getitem__ = __setitem__ = __dlpack__ = _no_data


def _dyns(modes: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(Dyn(m.width, m.divisibility) if isinstance(m, SymInt | Product) else m
                 for m in modes)  # fmt: skip


def _checked(modes: Any, what: str, least: int | None) -> tuple[Any, ...]:
    """Extents or strides as Python integers and symbols."""
    out: list[Any] = []
    for mode in modes if is_sequence(modes) else (modes,):
        value = getattr(mode, "value", mode)  # a static number of the language
        if isinstance(value, SymInt | Product):
            out.append(value)
        elif isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ArgumentError(
                f"a fake tensor's {what} is made of integers, one per mode", code="OC2119",
                expected="integers, cute.sym_int()", found=repr(mode),
            )  # fmt: skip
        elif least is not None and value < least:
            raise ArgumentError(f"a fake tensor's {what} is negative", code="OC2119", found=value)
        else:
            out.append(operator.index(value))
    return tuple(out)


def make_fake_tensor(
    dtype: Any,
    shape: Any,
    stride: Any,
    *,
    memspace: Any = None,
    assumed_align: int | None = None,
    loc: Any = None,
    ip: Any = None,
) -> FakeTensor:
    """A tensor without data, to compile for.

    Args:
        dtype: numeric class of the elements.
        shape: extents; `cute.sym_int()` where calls may differ.
        stride: in elements, likewise.
        memspace: where calls' tensors lie; global memory when omitted.
        assumed_align: alignment in bytes that calls' tensors have; the element's own when omitted.

    Raises:
        ArgumentError: something that is no integer, or different numbers of modes.
    """
    return FakeTensor(dtype, shape, stride, memspace, assumed_align)


def make_fake_compact_tensor(
    dtype: Any,
    shape: Any,
    *,
    stride_order: Any = None,
    memspace: Any = None,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    loc: Any = None,
    ip: Any = None,
) -> FakeTensor:
    """A compact tensor without data, to compile for.

    Args:
        dtype: numeric class of the elements.
        shape: extents; `cute.sym_int()` where calls may differ.
        stride_order: rank of each mode's stride, 0 for the fastest mode; (0, 1, 2) is column-major
            and the order when omitted.
        memspace: where calls' tensors lie; global memory when omitted.
        assumed_align: alignment in bytes that calls' tensors have; the element's own when omitted.
        use_32bit_stride: pass dynamic strides as 32-bit integers.

    Raises:
        ArgumentError: an order that is no permutation of the modes.
    """
    extents = _checked(shape, "shape", 0)
    rank = len(extents)
    order = tuple(range(rank)) if stride_order is None else stride_order
    if not is_sequence(order) or sorted(order) != list(range(rank)):
        raise ArgumentError(
            "stride_order is no permutation of the modes", code="OC2109",
            expected=f"each of 0 to {rank - 1} once", found=stride_order,
        )  # fmt: skip
    stride: list[Any] = [None] * rank
    factors: tuple[Any, ...] = ()
    for mode in sorted(range(rank), key=order.__getitem__):
        stride[mode] = _product(factors, 32 if use_32bit_stride else 64)
        factors += (extents[mode],)
    return FakeTensor(dtype, extents, tuple(stride), memspace, assumed_align)


def _product(factors: tuple[Any, ...], width: int) -> Any:
    """The stride after these extents: an integer if all are."""
    static = 1
    for f in factors:
        static *= 1 if isinstance(f, SymInt) else max(f, 1)
    symbols = tuple(f for f in factors if isinstance(f, SymInt))
    if not symbols:
        return static
    return Product((static, *symbols) if static != 1 else symbols, width)


class FakeStream:
    """A stream to compile for.

    Args:
        use_tvm_ffi_env_stream: calls do not pass it; the framework's current stream is used.
    """

    __slots__ = ("use_tvm_ffi_env_stream",)

    def __init__(self, use_tvm_ffi_env_stream: bool = False) -> None:
        self.use_tvm_ffi_env_stream = use_tvm_ffi_env_stream

    def __str__(self) -> str:
        return "FakeStream<env>" if self.use_tvm_ffi_env_stream else "FakeStream"

    __repr__ = __str__


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream:
    """A stream to compile for.

    Args:
        use_tvm_ffi_env_stream: calls leave the argument out, and launches go to the current stream
            of the framework.
    """
    return FakeStream(use_tvm_ffi_env_stream)
