# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors that come from outside: `from_dlpack`.

A tensor from a framework is static unless marked: `mark_layout_dynamic` and
`mark_compact_shape_dynamic` say which integers of its layout may differ between calls of one
compiled function. What else is true of the tensor at hand (its address and its dynamic strides are
multiples of 16 bytes, say) is a *fact*: code is specialised on facts, and a call with a tensor for
which they do not hold uses another version of the code.
"""

# pyright: reportPrivateUsage=false
# Native code fills slots of tensors that are nobody else's business.

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.lang.arguments.packed import counted_in_elements
from opencute.lang.external_pointers import ExternalPointer, check_tensor_alignment
from opencute.lang.numbers import NumericMeta, numeric_class
from opencute.lang.pointers import AddressSpace, element_bits
from opencute.lang.tensors import Tensor
from opencute.layout.ints import is_sequence
from opencute.numeric.dtypes import from_dlpack_code
from opencute.runtime.capsule import pack, unpack
from opencute.runtime.dlpack import export
from opencute.runtime.external import ExternalArray
from opencute.runtime.phantom import without_memory

__all__ = [
    "MARKS", "MARK_ALIGN", "MARK_LEAD", "ExternalTensor", "fill", "from_dlpack", "make_native",
    "mark_word", "plain_marks", "slow_from_dlpack", "slow_mark", "use_native",
]  # fmt: skip

MARKS = ctypes.c_int64(0)
"""How many times marks of a tensor were replaced by other ones, anywhere: calls that were prepared
before are then looked at again."""

_CPU_KINDS = (1, 3)  # DLPack: CPU, CUDA pinned host memory
# Nothing wider than 128 bits exists before sm_100; 256-bit accesses need assumed_align=32.
_FACT_BYTES = 16


# One object each, so that comparing the marks of two tensors is comparing identities.
_UNKNOWN = {32: Dyn(32), 64: Dyn(64)}


def _whole(name: str, value: Any) -> int:
    """An argument that is an integer.

    Raises:
        ArgumentError: it is none.
    """
    if not hasattr(value, "__index__"):
        raise ArgumentError(
            f"{name} is no integer", code="OC2115", expected="an integer", found=repr(value)
        )
    return operator.index(value)


class ExternalTensor(Tensor):
    """A framework's tensor as an argument of compiled functions.

    Args:
        array: what the framework exported.
        assumed_align: alignment in bytes that every tensor passed in this place has; None: the
            element's own, and the address at hand decides about specialised code.
        use_32bit_stride: pass dynamic strides as 32-bit integers.
    """

    __slots__ = (
        "__weakref__", "_dtype", "_native_marks", "_order", "_record", "_storage", "_stride32",
        "array", "assumed_align", "owner", "prepared", "promised", "state", "version",
    )  # fmt: skip
    __hash__ = object.__hash__

    def __init__(
        self,
        array: ExternalArray,
        assumed_align: int | None = None,
        use_32bit_stride: bool = False,
        owner: Any = None,
    ) -> None:
        self.array = array = counted_in_elements(array)
        self.owner = owner
        self.promised: tuple[int, ...] | None = None  # facts that hold in every call
        self._dtype: Any = None
        self._order: list[int] | None = None  # stride order of earlier marks
        self._stride32 = use_32bit_stride
        # Shape and stride with marks; replaced, never changed, so that its identity tells of marks.
        self.state: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None
        self.prepared = False
        self.version = 0  # counts changes of marks and type
        natural = max(element_bits(self.element_type) // 8, 1)
        if assumed_align is not None:
            assumed_align = _whole("assumed_align", assumed_align)
            if assumed_align < 1 or assumed_align & (assumed_align - 1):
                raise ArgumentError(
                    "assumed_align must be a power of two", code="OC2101", found=assumed_align
                )
            check_tensor_alignment(array.address, assumed_align)
        self.assumed_align = max(assumed_align or natural, 1)

    def __getattr__(self, name: str) -> Any:
        # Native code makes tensors with four slots filled; Python's are filled when one is read.
        if name not in _FILLED_LATER or not hasattr(self, "_record"):
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self)
        fill(self)
        return object.__getattribute__(self, name)

    # ---- facts that users read
    @property
    def element_type(self) -> Any:
        """Numeric class of the elements; may be set, for types that the framework lacks."""
        if self._dtype is None:
            t = self.array.dtype
            self._dtype = numeric_class(from_dlpack_code(t.code, t.bits, t.lanes))
        return self._dtype

    @element_type.setter
    def element_type(self, dtype: NumericMeta) -> None:
        if element_bits(dtype) != element_bits(self.element_type):
            raise ArgumentError(
                "element_type must keep the width", code="OC2103",
                expected=f"{element_bits(self.element_type)} bits", found=dtype,
            )  # fmt: skip
        self._changed()
        self._dtype = dtype

    dtype = element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor at hand."""
        return tuple(self.array.shape)

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides of the tensor at hand, in elements."""
        return tuple(self.array.strides)

    @property
    def data_ptr(self) -> int:
        """Address of the first element."""
        return self.array.address

    @property
    def iterator(self) -> ExternalPointer:
        """The address as a pointer argument."""
        return ExternalPointer(self.element_type, self.array.address, self.memspace,
                               self.assumed_align)  # fmt: skip

    @property
    def memspace(self) -> AddressSpace:
        """gmem for device memory, generic for host memory."""
        cpu = self.array.device[0] in _CPU_KINDS
        return AddressSpace.generic if cpu else AddressSpace.gmem

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * element_bits(self.element_type) // 8

    @property
    def layout(self) -> Any:
        """The layout of the tensor at hand."""
        from opencute.layout import Layout

        return Layout(self.shape, self.stride)

    @property
    def leading_dim(self) -> int | None:
        """The mode whose stride is 1; None if there is none, or several of them."""
        ones = [i for i, (n, d) in enumerate(zip(self.shape, self.stride, strict=True))
                if d == 1 and n > 1]  # fmt: skip
        return ones[0] if len(ones) == 1 else None

    @property
    def type(self) -> str:
        """The type that the tensor has in compiled code."""
        natural = max(element_bits(self.element_type) // 8, 1)
        align = f", align<{self.assumed_align}>" if self.assumed_align != natural else ""
        name = self.element_type.dtype.name
        return f"tensor<ptr<{name}, {self.memspace.name}{align}> o {self.layout_attr().text()}>"

    def __str__(self) -> str:
        shape, stride = (f"({', '.join(map(str, t))})" for t in self.marked())
        return f"Tensor<0x{self.data_ptr:016x}@{self.memspace.name} o {shape}:{stride}>"

    __repr__ = __str__

    # ---- marks
    def _stride_width(self) -> int:
        return 32 if self._stride32 else 64

    def _mark(self, state: tuple[tuple[Any, ...], tuple[Any, ...]]) -> None:
        self._changed()
        self.state = state

    def _changed(self) -> None:
        self.version += 1
        self._native_marks: int | None = None
        if self.prepared:  # a call with this tensor is remembered somewhere
            MARKS.value += 1

    def marked(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Shape and stride with the integers that are dynamic as `Dyn`."""
        return self.state if self.state is not None else (self.shape, self.stride)

    def mark_layout_dynamic(self, leading_dim: int | None = None) -> ExternalTensor:
        """Make all extents and strides dynamic, except the leading 1 and strides of 0.

        Args:
            leading_dim: the mode whose stride is 1; negative counts from the end; deduced when
                omitted.

        Raises:
            ArgumentError: the leading mode cannot be deduced, or its stride is not 1.
        """
        rank = len(self.shape)
        lead = self._leading(leading_dim) if rank else None
        self._check_range()
        width = self._stride_width()
        unknown = _UNKNOWN[width]
        shape = (_UNKNOWN[32],) * rank
        stride = tuple(
            [1 if i == lead else 0 if s == 0 else unknown for i, s in enumerate(self.stride)]
        )
        self._mark((shape, stride))
        return self

    def _check_range(self) -> None:
        """Offsets must fit in 32 bits if the strides do not have more."""
        reach = sum(abs(d) * (n - 1) for n, d in zip(self.shape, self.stride, strict=True) if n)
        if self._stride32 and reach >= 1 << 31:
            raise ArgumentError(
                "the tensor's offsets do not fit in 32 bits", code="OC2104",
                expected="less than 2^31 elements between the first and the last",
                found=f"{self.shape}:{self.stride}", hint="leave out use_32bit_stride",
            )  # fmt: skip

    def _leading(self, leading_dim: int | None) -> int | None:
        rank, shape, stride = len(self.shape), self.shape, self.stride
        if leading_dim is not None:
            leading_dim = _whole("leading_dim", leading_dim)
            lead = leading_dim + rank if leading_dim < 0 else leading_dim
            if not 0 <= lead < rank:
                raise ArgumentError(
                    "leading_dim is out of range", code="OC2105",
                    expected=f"-{rank} to {rank - 1}", found=leading_dim,
                )  # fmt: skip
            if stride[lead] != 1 and shape[lead] != 1:
                raise ArgumentError(
                    "the leading mode's stride is not 1", code="OC2106",
                    expected="strides[leading_dim] == 1", found=stride[lead],
                )  # fmt: skip
            return lead
        ones = [i for i in range(rank) if stride[i] == 1]
        wide = [i for i in ones if shape[i] > 1]
        if len(ones) <= 1:
            return ones[0] if ones else None
        if len(wide) == 1:
            return wide[0]
        if not wide:
            # People compile for many shapes with torch.empty(1, 1): its last mode leads.
            return rank - 1
        raise ArgumentError(
            "the leading mode cannot be deduced: several modes have stride 1", code="OC2107",
            found=f"{shape}:{stride}", hint="pass leading_dim",
        )  # fmt: skip

    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: tuple[int, ...] | None = None, divisibility: int = 1
    ) -> ExternalTensor:
        """Make one extent dynamic, and the strides that follow from it; for compact tensors.

        Args:
            mode: the extent's position.
            stride_order: modes from outermost to innermost, as `torch.Tensor.dim_order()`.
            divisibility: what divides the extent in every call.

        Raises:
            ArgumentError: not compact, an order that does not fit, or an extent that is not
                divisible.
        """
        rank = len(self.shape)
        mode, divisibility = _whole("mode", mode), _whole("divisibility", divisibility)
        if not -rank <= mode < rank:
            raise ArgumentError(
                "mode is out of range", code="OC2105", expected=f"0 to {rank - 1}", found=mode
            )
        mode %= rank
        order = self._stride_order(stride_order)
        if divisibility < 1 or self.shape[mode] % divisibility:
            raise ArgumentError(
                f"the extent of mode {mode} is not divisible", code="OC2108",
                expected=f"a multiple of {divisibility}", found=self.shape[mode],
            )  # fmt: skip
        self._check_range()
        self._order = order
        shape = list(self.marked()[0])
        shape[mode] = Dyn(32, divisibility)
        stride: list[Any] = [0] * rank
        step: int | Dyn = 1
        for i in reversed(order):
            if self.shape[i] != 1 or isinstance(shape[i], Dyn):
                stride[i] = step
            extent = shape[i]
            div = extent.div if isinstance(extent, Dyn) else extent
            if isinstance(extent, Dyn) or isinstance(step, Dyn):
                before = step.div if isinstance(step, Dyn) else step
                step = Dyn(self._stride_width(), min(before * div, 1 << 30))
            else:
                step = step * extent
        self._mark((tuple(shape), tuple(stride)))
        return self

    def _stride_order(self, given: tuple[int, ...] | None) -> list[int]:
        rank, stride, shape = len(self.shape), self.stride, self.shape
        if given is not None and not is_sequence(given):
            raise ArgumentError(
                "stride_order is no tuple", code="OC2115",
                expected="the modes from outermost to innermost", found=given,
            )  # fmt: skip
        if given is None and self._order is not None:
            return self._order
        if given is None:
            ones = [i for i in range(rank) if stride[i] == 1]
            if len(ones) > 1:
                raise ArgumentError(
                    "stride_order cannot be deduced: several modes have stride 1", code="OC2109",
                    found=f"{shape}:{stride}", hint="pass stride_order",
                )  # fmt: skip
            order = sorted(range(rank), key=lambda i: -stride[i])
        else:
            order = list(given)
            if sorted(order) != list(range(rank)):
                raise ArgumentError(
                    "stride_order is no permutation of the modes", code="OC2109",
                    expected=f"each of 0 to {rank - 1} once", found=given,
                )  # fmt: skip
            if self._order is not None and order != self._order:
                raise ArgumentError(
                    "stride_order differs from that of an earlier mark", code="OC2109",
                    expected=tuple(self._order), found=tuple(order),
                )  # fmt: skip
        step = 1
        for i in reversed(order):
            if shape[i] != 1 and stride[i] != step:
                raise ArgumentError(
                    "the tensor is not compact in this order", code="OC2110",
                    expected=f"stride {step} in mode {i}", found=f"{shape}:{stride}",
                    hint="mark_layout_dynamic() works for any strides",
                )  # fmt: skip
            step *= shape[i]
        return order

    # ---- what compilation and calls need
    def layout_attr(self) -> LayoutAttr:
        """The layout with the integers that are dynamic, without facts."""
        return LayoutAttr(*self.marked())

    def facts(self) -> tuple[int, ...]:
        """What is true of this tensor beyond its marks: alignment of the address in bytes (at most
        16, at least what is assumed), then for each dynamic stride the elements that divide it (at
        most 16 bytes' worth)."""
        address = self.array.address
        if self.promised is not None:
            return self.promised
        align = max(self.assumed_align, math.gcd(address, _FACT_BYTES) if address else _FACT_BYTES)
        per = max(align * 8 // element_bits(self.element_type), 1)
        out = [align]
        for leaf, actual, extent in zip(self.marked()[1], self.stride, self.shape, strict=True):
            if isinstance(leaf, Dyn):
                # The stride of an extent of 1 is never used.
                free = extent <= 1 or actual == 0
                out.append(max(leaf.div, per if free else math.gcd(actual, per)))
        return tuple(out)

    def dynamic_values(self) -> list[int]:
        """The values of the dynamic integers, shape first."""
        shape, stride = self.marked()
        out = [n for leaf, n in zip(shape, self.shape, strict=True) if isinstance(leaf, Dyn)]
        out += [n for leaf, n in zip(stride, self.stride, strict=True) if isinstance(leaf, Dyn)]
        return out

    def span_bytes(self) -> tuple[int, int]:
        """Where the elements lie: bytes from `data_ptr` to the lowest one, and bytes to past the
        highest one from there."""
        if 0 in self.shape:
            return 0, 0
        bits = element_bits(self.element_type)
        reaches = [(n - 1) * d for n, d in zip(self.shape, self.stride, strict=True)]
        low, high = sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches)
        return low * bits // 8, ((high - low + 1) * bits + 7) // 8

    # ---- as a part of a user's argument; see `opencute.frontend.arguments.protocols`
    def __c_pointers__(self) -> list[Any]:
        return [self]

    __get_mlir_types__ = __c_pointers__

    def __new_from_mlir_values__(self, values: Any) -> Any:
        return values[0]

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.owner.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def from_dlpack(
    tensor_dlpack: Any,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    *,
    enable_tvm_ffi: bool = False,
    force_tf32: bool = False,
) -> ExternalTensor:
    """A framework's tensor as an argument of compiled functions, without a copy.

    Args:
        tensor_dlpack: a torch tensor, NumPy array, or anything that exports DLPack.
        assumed_align: alignment in bytes that every tensor passed in this place will have.
        use_32bit_stride: pass dynamic strides as 32-bit integers.
        enable_tvm_ffi: accepted; calls are native in any case.
        force_tf32: accepted; without effect: the elements stay Float32.

    Raises:
        ArgumentError: not a tensor, not aligned as assumed, or of a type the language lacks.
    """
    if _native and not use_32bit_stride:
        return _native[0](tensor_dlpack, assumed_align)
    array = without_memory(tensor_dlpack) or export(tensor_dlpack)
    return ExternalTensor(array, assumed_align, use_32bit_stride, tensor_dlpack)


def slow_from_dlpack(tensor: Any, assumed_align: int | None) -> ExternalTensor:
    """What native code calls for what it does not know."""
    array = without_memory(tensor) or export(tensor)
    return ExternalTensor(array, assumed_align, False, tensor)


slow_mark = ExternalTensor.mark_layout_dynamic
"""The method in Python, which native code calls for what it does not know."""
_native: list[Any] = []
_FILLED_LATER = frozenset(
    {
        "_dtype", "_order", "_stride32", "array", "assumed_align", "prepared", "promised", "state",
        "version",
    }
)  # fmt: skip


def use_native(make: Any, mark: Any) -> None:
    """Take native code for `from_dlpack` and `mark_layout_dynamic`; see `opencute.jit.entry`."""
    _native[:] = [make]
    ExternalTensor.mark_layout_dynamic = mark


# What native code needs to know of a tensor's marks, in one integer: a bit, then two fields.
MARK_ALIGN, MARK_LEAD = 8, 1


def mark_word(dynamic: bool, lead: int | None, align: int) -> int:
    """Marks as one integer: whether the layout is dynamic, the leading mode, the alignment."""
    place = 0 if lead is None else lead + 1
    return int(dynamic) | place << MARK_LEAD | (align.bit_length() - 1) << MARK_ALIGN


def plain_marks(tensor: ExternalTensor) -> tuple[bool, int | None] | None:
    """Whether the layout is dynamic, and its leading mode; None for other marks."""
    shape, stride = tensor.marked()
    if not any(isinstance(x, Dyn) for x in (*shape, *stride)):
        return False, None
    ones = [i for i, s in enumerate(stride) if s == 1]
    plain = all(isinstance(n, Dyn) and n.div == 1 for n in shape) and all(
        (isinstance(s, Dyn) and s.width == 64 and s.div == 1) or s in (0, 1) for s in stride
    )
    return (True, ones[0] if ones else None) if plain and len(ones) < 2 else None


def make_native(tensor: ExternalTensor) -> None:
    """Give a tensor that Python made, or whose marks changed, what native code reads."""
    if getattr(tensor, "_native_marks", None) is not None:
        return
    array, plain = tensor.array, plain_marks(tensor)
    t = array.dtype
    own = numeric_class(from_dlpack_code(t.code, t.bits, t.lanes))
    if plain is None or array.padded or tensor.element_type is not own:
        return
    if not hasattr(tensor, "_record"):
        tensor._record = pack(array.address, array.shape, array.strides, array.dtype, array.device)
    tensor._native_marks = mark_word(*plain, tensor.assumed_align)


def fill(tensor: ExternalTensor) -> None:
    """Give a tensor that native code made the attributes that Python code reads."""
    word: Any = tensor._native_marks
    lead = (word >> MARK_LEAD & 0x7F) - 1
    taken = unpack(tensor._record)
    owner = tensor.owner
    array = ExternalArray(
        taken.address, taken.shape, taken.strides, taken.dtype, taken.device, False,
        (owner, tensor._storage), False, "torch",
    )  # fmt: skip
    ExternalTensor.__init__(tensor, array, 1 << (word >> MARK_ALIGN), False, owner)
    if word & 1:
        slow_mark(tensor, lead if lead >= 0 else None)
        tensor.version = 0
        tensor._native_marks = word
