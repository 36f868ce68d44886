# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch and NumPy alike: what the interfaces of operators need of them."""

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError
from opencute.jit.recording import once_only

__all__ = [
    "MOST_BLOCKS", "apart", "as_rows", "check_rows", "contiguous", "element_name", "empty",
    "empty_like", "fill", "floating", "forwards", "host_values", "item_bits", "multiprocessors",
    "near", "permuted", "portions", "row_major", "same_shape", "share_memory", "stepping", "strides",
    "vector_elements", "viewed", "zeros",
]  # fmt: skip

_FLOATS = ("float16", "bfloat16", "float32")
MOST_BLOCKS = 65535  # of a grid, along its second and third axis
_FAR = 1 << 31  # elements
_MOST_WORK = 10_000  # to find out whether arrays share memory


def element_name(array: Any) -> str:
    """The type of the elements, the same word for torch and NumPy: ``"bfloat16"``."""
    return str(array.dtype).rpartition(".")[2]


def item_bits(array: Any) -> int:
    """Bits of an element."""
    size = array.element_size() if hasattr(array, "element_size") else array.dtype.itemsize
    return 8 * int(size)


def empty_like(array: Any, shape: tuple[int, ...] | None = None) -> Any:
    """A new array of the same kind, type and device; contiguous."""
    return empty(array, tuple(array.shape) if shape is None else shape, array.dtype)


def empty(array: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A new contiguous array of the same kind and device, with another shape and type.

    Args:
        dtype: of the framework that `array` is from, or a name such as ``"float32"``.
    """
    if hasattr(array, "new_empty"):
        if isinstance(dtype, str):
            import torch

            dtype = getattr(torch, dtype)
        return array.new_empty(shape, dtype=dtype)
    import numpy as np

    return np.empty(shape, dtype=dtype)


def zeros(array: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """As `empty`, filled with zeros."""
    if hasattr(array, "new_zeros"):
        if isinstance(dtype, str):
            import torch

            dtype = getattr(torch, dtype)
        return array.new_zeros(shape, dtype=dtype)
    import numpy as np

    return np.zeros(shape, dtype=dtype)


def fill(array: Any, value: float) -> None:
    """Make a number of each element."""
    (array.fill_ if hasattr(array, "fill_") else array.fill)(value)


def floating(**arrays: Any) -> None:
    """Check that arrays are of f16, bf16 or f32; None is left out.

    Raises:
        ArgumentError: one of them is not.
    """
    for name, array in arrays.items():
        if array is not None and element_name(array) not in _FLOATS:
            raise ArgumentError(
                f"{name} has a type that this operator does not take", code="OC2507",
                expected=", ".join(_FLOATS), found=str(array.dtype),
            )  # fmt: skip


def forwards(name: str, array: Any) -> Any:
    """A NumPy array as operators take it: a plain one, a copy where it runs backwards.

    Raises:
        ArgumentError: some of its elements do not count, or the order of bytes is another one.
    """
    import numpy as np

    if type(array) is not np.ndarray:
        if isinstance(array, np.ma.MaskedArray):
            raise ArgumentError(
                f"{name} is a masked array, and operators know no masks", code="OC2010",
                hint="pass array.filled(0), or array.data with what is under the mask",
            )  # fmt: skip
        array = array.view(np.ndarray)  # matrices keep two axes, whatever is done to them
    if not array.dtype.isnative:
        raise ArgumentError(
            f"the byte order of {name} is not this machine's", code="OC2011",
            found=repr(array.dtype), hint="pass array.astype(array.dtype.newbyteorder('='))",
        )  # fmt: skip
    if any(s < 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        return array.copy()
    return array


def share_memory(a: Any, b: Any) -> bool | None:
    """Whether two arrays share memory; None if they are the same elements in the same order."""
    if getattr(a, "device", None) != getattr(b, "device", None):
        return False
    (at, low, high), (other, first, last) = _span(a), _span(b)
    if high <= first or last <= low:
        return False
    if at == other and item_bits(a) == item_bits(b) and _walk(a) == _walk(b):
        return None
    import numpy as np

    most: Any = _MOST_WORK  # NumPy's stubs know two numbers only
    try:
        return bool(np.shares_memory(_shadow(a), _shadow(b), max_work=most))
    except RuntimeError:  # too hard to tell
        return False


def _walk(array: Any) -> list[tuple[int, int]]:
    steps = zip(array.shape, strides(array), strict=True)
    return [(int(n), s) for n, s in steps if n > 1]


def _span(array: Any) -> tuple[int, int, int]:
    """The address of an array, and of its first byte and of the one after its last."""
    at = int(array.data_ptr()) if hasattr(array, "data_ptr") else int(array.ctypes.data)
    size = item_bits(array) // 8
    if 0 in array.shape:
        return at, at, at
    ends = [s * (n - 1) * size for n, s in _walk(array)]
    return at, at + sum(e for e in ends if e < 0), at + sum(e for e in ends if e > 0) + size


class _Shadow:
    """An array's place and strides as NumPy takes them; nobody reads what is there."""

    def __init__(self, array: Any) -> None:
        size = item_bits(array) // 8
        self.__array_interface__ = {
            "version": 3, "shape": tuple(int(n) for n in array.shape), "typestr": f"|V{size}",
            "strides": tuple(s * size for s in strides(array)), "data": (_span(array)[0], True),
        }  # fmt: skip


def _shadow(array: Any) -> Any:
    import numpy as np

    return np.asarray(_Shadow(array))


def permuted(array: Any, axes: tuple[int, ...]) -> Any:
    """A view of an array with its axes in another order."""
    return array.permute(axes) if hasattr(array, "permute") else array.transpose(axes)


def contiguous(array: Any) -> Any:
    """An array in the order of its axes: itself, or a copy."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    import numpy as np

    return np.ascontiguousarray(array)


def near(array: Any, axis: int, rows: int) -> Any:
    """An array in whose tiles the distances have 32 bits: itself, or a copy.

    Args:
        axis: along which a tile has `rows`.
    """
    far = int(array.shape[axis]) > 1 and strides(array)[axis] * rows >= _FAR
    return contiguous(array) if far else array


def portions(count: int, each: int = 1) -> list[slice]:
    """So many things in parts for which a grid has room along its second or third axis.

    Args:
        each: how many of them a block does.
    """
    most = MOST_BLOCKS * each
    return [slice(i, i + most) for i in range(0, count, most)]


def host_values(array: Any) -> Any:
    """The numbers of an array that lies in the host's memory, as a NumPy array; else None.

    Those of a device are not looked at: whoever reads them waits for all kernels before.
    """
    if hasattr(array, "data_ptr"):
        if array.device.type != "cpu":
            return None
        once_only("it reads elements of an array")
        return array.detach().numpy()
    return array if hasattr(array, "ctypes") else None


def strides(array: Any) -> tuple[int, ...]:
    """Strides in elements."""
    if callable(getattr(array, "stride", None)):
        return tuple(int(s) for s in array.stride())
    return tuple(int(s) // array.dtype.itemsize for s in array.strides)


def stepping(array: Any) -> Any:
    """A view of an array in which axes of one element have positive strides too, as tensor maps
    want them: that of ``x[None]`` is 0 in NumPy."""
    reach, steps = 1, list(strides(array))
    for i in reversed(range(len(steps))):
        n = int(array.shape[i])
        if n == 1 and steps[i] <= 0:
            steps[i] = reach
        reach = max(reach, steps[i] * n)
    if tuple(steps) == strides(array):
        return array
    if hasattr(array, "as_strided"):
        return array.as_strided(array.shape, steps)
    import numpy as np

    in_bytes = [s * array.dtype.itemsize for s in steps]
    return np.lib.stride_tricks.as_strided(array, array.shape, in_bytes)


def row_major(array: Any) -> bool:
    """Whether neighbours along the last axis are neighbours in memory."""
    return int(array.shape[-1]) == 1 or strides(array)[-1] == 1


def apart(name: str, array: Any) -> None:
    """Check that elements of a result do not share memory, as those of an expanded array do.

    Raises:
        ArgumentError: some do.
    """
    steps = sorted((abs(s), int(n)) for s, n in zip(strides(array), array.shape, strict=True))
    reach = 0
    for step, extent in steps if all(n for _, n in steps) else ():
        if extent > 1:
            if step <= reach:
                raise ArgumentError(
                    f"elements of {name} share memory", code="OC2541",
                    expected="an array with room for each element",
                    found=f"shape {tuple(array.shape)}, strides {strides(array)}",
                    hint="pass a contiguous array",
                )  # fmt: skip
            reach += step * (extent - 1)


def viewed(name: str, array: Any, shape: tuple[int, ...], *, written: bool = False) -> Any:
    """An array with another shape: a view where its layout allows, else a copy.

    Args:
        written: it is a result, which must not be a copy.

    Raises:
        ArgumentError: it would be a copy of a result.
    """
    if tuple(array.shape) == shape:
        return array
    out = array.reshape(shape)
    same = (
        out.data_ptr() == array.data_ptr() if hasattr(out, "data_ptr")
        else out.ctypes.data == array.ctypes.data
    )  # fmt: skip
    if written and not same:
        raise ArgumentError(
            f"{name} cannot be seen as {shape} without a copy", code="OC2508",
            found=f"shape {tuple(array.shape)}, strides {strides(array)}",
            hint="pass a contiguous array",
        )  # fmt: skip
    return out


def as_rows(name: str, array: Any, *, written: bool = False) -> Any:
    """A view of an array as a matrix whose rows are its last axis; a copy where none is possible.

    Args:
        written: it is a result, which must not be a copy.

    Raises:
        ArgumentError: it has no axis, its rows are not contiguous, or a result cannot be viewed.
    """
    if len(array.shape) < 1:
        raise ArgumentError(f"{name} has no axis", code="OC2500", found=tuple(array.shape))
    matrix = array
    if len(array.shape) != 2:
        count = 1
        for extent in array.shape[:-1]:
            count *= int(extent)
        matrix = viewed(name, array, (count, int(array.shape[-1])), written=written)
    if matrix.shape[1] != 0:
        _contiguous(name, matrix)
    return matrix


def multiprocessors(array: Any) -> int:
    """Multiprocessors of the device that an array is on; a typical number where it is on none."""
    if getattr(getattr(array, "device", None), "type", "") == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(array.device).multi_processor_count)
    return 132


def same_shape(**arrays: Any) -> None:
    """Check that arrays have one shape; None is left out.

    Raises:
        ArgumentError: they differ; the message has both shapes.
    """
    given = [(n, tuple(a.shape)) for n, a in arrays.items() if a is not None]
    for name, shape in given[1:]:
        if shape != given[0][1]:
            raise ArgumentError(
                f"{name} and {given[0][0]} differ in shape", code="OC2502", expected=given[0][1],
                found=shape,
            )  # fmt: skip


def vector_elements(n: int, bits: int, *arrays: Any) -> int:
    """Neighbouring elements that can be moved at once: at most 128 bits, a power of two.

    It divides the row, and rows and addresses are aligned to it.
    """
    vec = 128 // bits
    while vec > 1 and (n % vec or any(_address(a) % (vec * bits // 8) for a in arrays)):
        vec //= 2
    return vec


def _contiguous(name: str, array: Any) -> None:
    if not row_major(array):
        raise ArgumentError(
            f"the last axis of {name} is not contiguous", code="OC2501", expected="stride 1",
            found=f"stride {strides(array)[-1]}", hint="pass a contiguous copy",
        )  # fmt: skip


def check_rows(name: str, array: Any) -> None:
    """Check that rows can be moved by 16 bytes at a time.

    Raises:
        ArgumentError: they are not contiguous, or do not start where they should.
    """
    _contiguous(name, array)
    bits = item_bits(array)
    if vector_elements(int(array.shape[-1]), bits, array) * bits != 128:
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2524",
            expected=f"an aligned address, and strides that are multiples of {128 // bits}",
            hint="pass a contiguous copy",
        )  # fmt: skip


def _address(array: Any) -> int:
    """Address and strides of rows in bytes, or-ed: what divides all divides this."""
    size = item_bits(array) // 8
    at = int(array.data_ptr()) if hasattr(array, "data_ptr") else int(array.ctypes.data)
    for extent, step in zip(array.shape[:-1], strides(array)[:-1], strict=True):
        at |= step * size if extent > 1 else 0
    return at
