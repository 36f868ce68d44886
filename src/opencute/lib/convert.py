# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A tensor's numbers in another type, by a kernel: `cute.testing.convert`.

In: two tensors of one shape. Out: the second holds the first's numbers, rounded to nearest::

    narrow = from_dlpack(torch.empty_like(x, dtype=torch.uint8))
    narrow.element_type = cutlass.Float8E4M3FN
    convert(from_dlpack(x), narrow)
"""

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.cute.typing import Constexpr
from opencute.layout.ints import is_tuple

__all__ = ["convert"]

_THREADS = 256


@cute.kernel
def _convert_kernel(src: cute.Tensor, dst: cute.Tensor, tiler: Constexpr[Any]) -> None:
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    at = block * _THREADS + thread
    # A thread writes whole bytes: elements that share one are its own.
    source, target = cute.zipped_divide(src, tiler), cute.zipped_divide(dst, tiler)
    if at < cute.size(target, mode=[1]):
        numbers = source[(None, at)].load()
        kind: Any = dst
        target[(None, at)].store(numbers.to(kind.element_type))


@cute.jit
def _convert(src: cute.Tensor, dst: cute.Tensor, tiler: Constexpr[Any]) -> None:
    tiles = cute.size(cute.zipped_divide(dst, tiler), mode=[1])
    _convert_kernel(src, dst, tiler).launch(grid=cute.ceil_div(tiles, _THREADS), block=_THREADS)


def _per_byte(dtype: Any) -> int:
    """How many elements fill whole bytes."""
    width = dtype.width
    return 1 if width >= 8 else 4 if width == 6 else 8 // width


def convert(src: Any, dst: Any) -> None:
    """Write the numbers of a tensor to one of another type.

    Args:
        src: a tensor, or an array that `from_dlpack` takes.
        dst: a tensor of the same shape.

    Raises:
        ArgumentError: OC2230, the shapes differ; OC2231, elements that share a byte are not
            neighbours, or their number is odd.
        ArgumentTypeError: OC2232, one of them is no tensor.
    """
    for name, x in (("src", src), ("dst", dst)):
        if not (hasattr(x, "element_type") and is_tuple(getattr(x, "stride", None))):
            raise ArgumentTypeError(
                f"convert: {name} is no tensor", code="OC2232", found=type(x).__name__,
                hint="wrap an array with from_dlpack()",
            )  # fmt: skip
    if tuple(src.shape) != tuple(dst.shape):
        raise ArgumentError(
            "convert: the shapes differ", code="OC2230", expected=tuple(src.shape),
            found=tuple(dst.shape),
        )  # fmt: skip
    tiler = [1] * len(dst.shape)
    for name, x in (("src", src), ("dst", dst)):
        count = _per_byte(x.element_type)
        lead = x.leading_dim if count > 1 else None
        if count > 1 and (lead is None or x.shape[lead] % count):
            raise ArgumentError(
                f"convert: elements of {name} share bytes, but not in whole rows", code="OC2231",
                expected=f"a mode with stride 1 and a multiple of {count} elements",
                found=f"{tuple(x.shape)}:{tuple(x.stride)} of {x.element_type}",
            )  # fmt: skip
        if lead is not None:
            tiler[lead] = max(tiler[lead], count)
    if 0 not in tuple(dst.shape):
        _convert(src, dst, tuple(tiler))
