# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator's hot loops, compiled once for this CPU: narrow floats, gather and scatter.

In and out: NumPy arrays. They do what `opencute.native.helpers.reference` does, faster::

    out = np.empty(offsets.shape, np.float32)
    bad = gather(memory, offsets, out)        # byte offsets; -1, or the first lane out of bounds

Not-a-number: a conversion returns what the hardware's ``cvt`` returns, 0x7fff in f16 and bf16 and
0x7fffffff in f32, whatever sign and payload came in. (NumPy and ml_dtypes keep sign and payload;
all other values agree with them bit for bit.)

The first use compiles (about 0.2 s); with `use_cache` the object code is kept in a disk cache and
the first use takes 5 ms. Widening bf16 is not here: ml_dtypes is as fast.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from opencute.base.errors import ArgumentError, MissingPieceError, ToolchainError
from opencute.base.native_function import native_function
from opencute.native import jit, target
from opencute.native.helpers import reference
from opencute.native.helpers.ir import CONVERSIONS, WIDTHS, copies_text, wide_text

__all__ = ["BlobCache", "f16_to_f32", "f32_to_bf16", "f32_to_f16", "gather", "scatter", "use_cache"]


class BlobCache(Protocol):
    """What `use_cache` needs: `opencute.runtime.cache.DiskCache` is one."""

    def get(self, key: str) -> dict[str, bytes] | None:
        """The blobs kept under a key."""
        ...

    def put(self, key: str, blobs: Mapping[str, bytes]) -> object:
        """Keep blobs under a key."""
        ...


Builtin = Callable[..., int]

_DATA_OFFSET = object.__basicsize__  # PyArrayObject: the object header, then the data pointer
_lock = threading.Lock()
_cache: BlobCache | None = None
_loaded: dict[str, Builtin] | None = None
_keep: list[object] = []


def use_cache(cache: BlobCache | None) -> None:
    """Keep the helpers' object code in `cache`; call it before the first helper is used."""
    global _cache
    _cache = cache


def _module(text: str, passes: target.Passes, opt: int, symbols: dict[str, int]) -> jit.HostModule:
    """The module from the cache, else from LLVM."""
    recipe = "\0".join(
        (text, passes, str(opt), *target.host_description(), str(target.llvm_version()))
    )
    key = hashlib.sha256(recipe.encode()).hexdigest()
    blobs = _cache.get(key) if _cache is not None else None
    if blobs is not None:
        try:
            return jit.load_object(blobs["object"], symbols)
        except (ToolchainError, KeyError):
            pass  # written by something else: compile and overwrite
    module = jit.compile_host(text, symbols, passes=passes, opt=opt)
    if _cache is not None:
        _cache.put(key, {"object": module.object_code})
    return module


def _load() -> dict[str, Builtin]:
    """All builtins by name; empty where there is no LLVM, and NumPy does the work."""
    global _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        python = {
            name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
            for name in ("PyLong_AsLongLong", "PyLong_FromLongLong")
        }
        try:
            wide = _module(wide_text(_DATA_OFFSET), "O3", 2, python)
        except (MissingPieceError, ToolchainError):
            # No llvmlite, or a CPU whose f16 conversions are library calls that nobody provides.
            _loaded = {}
            return _loaded
        symbols = {**python, "first_bad": wide.address("first_bad")}
        copies = _module(copies_text(_DATA_OFFSET), "small", 2, symbols)
        _keep.extend((wide, copies))
        loaded = {name: native_function(wide.address(f"py_{name}"), name) for name in CONVERSIONS}
        for width in WIDTHS:
            for name in (f"gather{width}", f"scatter{width}"):
                loaded[name] = native_function(copies.address(f"py_{name}"), name)
        _loaded = loaded
        return loaded


def _convert(name: str, values: NDArray[Any], source: Any, result: Any) -> NDArray[Any]:
    if values.dtype != source:
        raise ArgumentError(
            f"{name} converts arrays of {np.dtype(source)}", code="OC2922", found=values.dtype
        )
    loaded = _loaded if _loaded is not None else _load()
    if not loaded:
        return getattr(reference, name)(values)
    values = np.ascontiguousarray(values) if not values.flags.c_contiguous else values
    out = np.empty(values.shape, result)
    loaded[name](out, values, values.size)
    return out


def f32_to_f16(values: NDArray[np.float32]) -> NDArray[np.float16]:
    """Round to nearest even; every NaN becomes 0x7fff."""
    return _convert("f32_to_f16", values, np.float32, np.float16)


def f16_to_f32(values: NDArray[np.float16]) -> NDArray[np.float32]:
    """Exact; every NaN becomes 0x7fffffff."""
    return _convert("f16_to_f32", values, np.float16, np.float32)


def f32_to_bf16(values: NDArray[np.float32]) -> NDArray[Any]:
    """Round to nearest even; every NaN becomes 0x7fff. Gives an ``ml_dtypes.bfloat16`` array."""
    return _convert("f32_to_bf16", values, np.float32, ml_dtypes.bfloat16)


def _check_copy(memory: NDArray[Any], offsets: NDArray[Any], items: NDArray[Any]) -> int:
    """The width of one item in bytes; raises ArgumentError for arrays that do not fit together."""
    if offsets.dtype != np.int64:
        raise ArgumentError("offsets are int64", code="OC2922", found=offsets.dtype)
    if not (memory.flags.c_contiguous and offsets.flags.c_contiguous and items.flags.c_contiguous):
        raise ArgumentError("memory, offsets and items must be contiguous", code="OC2922")
    width, rest = divmod(items.nbytes, offsets.size)
    if rest or width not in WIDTHS:
        raise ArgumentError(
            "items do not fit the offsets",
            code="OC2922",
            expected=f"1, 2, 4, 8 or 16 bytes for each of {offsets.size} offsets",
            found=f"{items.nbytes} bytes",
        )
    return width


def gather(memory: NDArray[Any], offsets: NDArray[np.int64], out: NDArray[Any]) -> int:
    """Copy one item per lane out of memory.

    Args:
        memory: contiguous array of any type.
        offsets: byte offsets into it, one per lane; they need not be aligned.
        out: contiguous array, 1, 2, 4, 8 or 16 bytes per lane; must not overlap `memory`.

    Returns:
        -1, or the first lane whose item is not inside `memory`; then `out` is left alone.

    Raises:
        ArgumentError: the arrays do not fit together.
    """
    lanes = offsets.size
    if not lanes:
        return -1
    width = _check_copy(memory, offsets, out)
    if not out.flags.writeable:
        raise ArgumentError("`out` is read-only", code="OC2923")
    loaded = _loaded if _loaded is not None else _load()
    last = memory.nbytes - width
    if last < 0:
        return 0
    if not loaded:
        return reference.gather(memory, offsets, out)
    return loaded[f"gather{width}"](out, memory, offsets, lanes, last)


def scatter(memory: NDArray[Any], offsets: NDArray[np.int64], values: NDArray[Any]) -> int:
    """Copy one item per lane into memory; of lanes that write the same bytes the last one wins.

    Args:
        memory: contiguous, writable array of any type.
        offsets: byte offsets into it, one per lane; they need not be aligned.
        values: contiguous array, 1, 2, 4, 8 or 16 bytes per lane; must not overlap `memory`.

    Returns:
        -1, or the first lane whose item is not inside `memory`; then `memory` is left alone.

    Raises:
        ArgumentError: the arrays do not fit together.
    """
    lanes = offsets.size
    if not lanes:
        return -1
    width = _check_copy(memory, offsets, values)
    if not memory.flags.writeable:
        raise ArgumentError("`memory` is read-only", code="OC2923")
    loaded = _loaded if _loaded is not None else _load()
    last = memory.nbytes - width
    if last < 0:
        return 0
    if not loaded:
        return reference.scatter(memory, offsets, values)
    return loaded[f"scatter{width}"](memory, values, offsets, lanes, last)
