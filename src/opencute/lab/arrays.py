# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch and NumPy in one form: cloning inputs, freezing values.

In: trees of tuples, lists, dicts, tensors, arrays and scalars. Out: `clone(tree)`, a copy with the
same strides, alignment and aliasing that shares no memory with the original, and `freeze(tree)`,
the same tree with each array as a `Frozen`: a private NumPy copy that nothing the kernel holds can
change::

    freeze((torch.ones(2), None))
    # (Frozen("torch", "cpu", "float32", (2,), array([1., 1.])), None)

The members of torch that this needs are taken when torch is imported, before a user's file can
replace them.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from opencute.integrations import torch_sim
from opencute.integrations.import_hook import after_import

__all__ = [
    "Frozen", "Opaque", "clone", "extent", "freeze", "leaves", "shares_memory", "watch_torch",
]  # fmt: skip

_ALIGN = 256
_ML: Any = importlib.import_module("ml_dtypes")
Array: TypeAlias = Any
"""A NumPy array; its stubs say "unknown" at every second step."""


@dataclass(frozen=True)
class Frozen:
    """An array's value at one time.

    Args:
        library: ``"torch"`` or ``"numpy"`` (or the name of another array library).
        device: ``"cpu"``, ``"cuda:0"``.
        dtype: name of the element type.
        shape: extents.
        data: the elements, C-contiguous.
    """

    library: str
    device: str
    dtype: str
    shape: tuple[int, ...]
    data: Array

    def same_bits(self, other: Frozen) -> bool:
        """Whether both hold the same bits; NaN equals itself here."""
        if self.shape != other.shape or self.dtype != other.dtype:
            return False
        if self.data.dtype == object:
            return bool(np.array_equal(self.data, other.data))
        return bool(np.array_equal(_bytes_of(self.data), _bytes_of(other.data)))


@dataclass(frozen=True)
class Opaque:
    """A value that is no array, scalar or container."""

    type: str
    text: str


def _bytes_of(array: Array) -> Array:
    flat: Array = np.ascontiguousarray(array)
    return flat.reshape(-1).view(np.uint8)


class _Torch:
    """The members of torch that freezing and cloning use."""

    def __init__(self, torch: Any) -> None:
        tensor = torch.Tensor
        self.tensor: type = tensor
        self.names = ("detach", "cpu", "clone", "numpy", "view", "contiguous", "set_", "new_empty",
                      "to_dense", "is_conj", "is_neg", "resolve_conj", "resolve_neg",
                      "untyped_storage", "storage_offset", "size", "stride",
                      "requires_grad_", "dequantize", "element_size")  # fmt: skip
        self.call: dict[str, Any] = {name: getattr(tensor, name) for name in self.names}
        self.uint8 = torch.uint8
        self.strided = torch.strided
        self.cuda_synchronize = torch.cuda.synchronize
        self.cuda_available = torch.cuda.is_available

    def __getattr__(self, name: str) -> Any:
        return self.call[name]

    def plain(self, t: Any) -> bool:
        """Whether the tensor is described by storage, offset, shape and strides alone."""
        return t.layout is self.strided and not (
            t.is_quantized or self.is_conj(t) or self.is_neg(t)
        )

    def clone_into(self, t: Any, memo: dict[Any, Any]) -> Any:
        if not self.plain(t):
            return self.clone(self.detach(t))
        storage = self.untyped_storage(t)
        key = ("torch", storage.data_ptr(), storage.nbytes())
        if key not in memo or storage.nbytes() == 0:
            base = t.new_empty(0, dtype=self.uint8)
            memo[key] = self.untyped_storage(self.clone(self.set_(base, storage)))
        out = self.new_empty(self.detach(t), 0)
        out = self.set_(out, memo[key], self.storage_offset(t), self.size(t), self.stride(t))
        if torch_sim.installed() and torch_sim.is_uninitialized(t):
            torch_sim.mark_uninitialized(out)
        return self.requires_grad_(out, True) if t.requires_grad else out

    def freeze(self, t: Any) -> Frozen:
        name = str(t.dtype).removeprefix("torch.")
        device = str(t.device)
        if t.layout is not self.strided:
            t = self.to_dense(t)
        if t.is_quantized:
            t = self.dequantize(t)
        shape = tuple(self.size(t))
        host = self.resolve_neg(
            self.resolve_conj(self.clone(self.contiguous(self.cpu(self.detach(t)))))
        )
        custom = _CUSTOM.get(name)
        if name == "float4_e2m1fn_x2":
            pairs = self.numpy(self.view(host, self.uint8))
            nibbles: Array = np.concatenate([pairs[..., None] & 15, pairs[..., None] >> 4], axis=-1)
            nibbles = nibbles.reshape(*shape[:-1], -1)
            return Frozen("torch", device, name, shape, nibbles.view(_ML.float4_e2m1fn))
        if custom is not None:
            if host.dim() == 0:
                flat = self.numpy(self.view(host.reshape(1), self.uint8)).view(custom).reshape(())
            else:
                flat = self.numpy(self.view(host, self.uint8)).view(custom)
            return Frozen("torch", device, name, shape, flat.reshape(shape))
        return Frozen("torch", device, name, shape, self.numpy(host))


# Element types that NumPy knows only through ml_dtypes; torch uses the same names.
_CUSTOM: dict[str, Any] = {
    name: np.dtype(getattr(_ML, name))
    for name in (
        "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
    if hasattr(_ML, name)
}  # fmt: skip

_torch: list[_Torch] = []


def watch_torch() -> None:
    """Take the members of torch as soon as it is imported."""
    after_import("torch", lambda torch: _torch.append(_Torch(torch)))


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor."""
    return bool(_torch) and isinstance(value, _torch[0].tensor)


def synchronize() -> None:
    """Wait for the GPU, so that its errors appear here and its results are there."""
    if _torch and _torch[0].cuda_available():
        _torch[0].cuda_synchronize()


def _clone_numpy(array: Array, memo: dict[Any, Any]) -> Array:
    root: Any = array
    while _is_numpy(root.base):
        root = root.base
    if array.dtype.hasobject:
        return copy.deepcopy(array)
    if not (root.flags.c_contiguous or root.flags.f_contiguous) or type(array) is not np.ndarray:
        return array.copy(order="K")
    key = ("numpy", id(root))
    address: int = root.ctypes.data
    if key not in memo:
        room = np.empty(root.nbytes + 2 * _ALIGN, np.uint8)
        # Same address modulo the alignment: a misaligned input must stay misaligned.
        start = (address - room.ctypes.data) % _ALIGN
        buffer = room[start : start + root.nbytes]
        buffer[...] = root.reshape(-1, order="A").view(np.uint8)
        memo[key] = (buffer, root)  # the root stays alive, or its id could be given away
    buffer = memo[key][0]
    offset = array.ctypes.data - address if array.size else 0
    out: Array = np.ndarray(
        array.shape, array.dtype, buffer=buffer, offset=offset, strides=array.strides
    )
    out.flags.writeable = array.flags.writeable
    return out


def clone(value: Any, memo: dict[Any, Any] | None = None) -> Any:
    """A copy of a tree of inputs that shares no memory with it.

    Strides, storage offsets and alignment are kept, and arrays that shared memory still share it.
    """
    memo = {} if memo is None else memo
    kind: Any = value.__class__
    if is_tensor(value):
        return _torch[0].clone_into(value, memo)
    if _is_numpy(value):
        return _clone_numpy(value, memo)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return kind((k, clone(v, memo)) for k, v in items)
    if hasattr(kind, "_fields"):
        return kind(*(clone(v, memo) for v in cast("tuple[Any, ...]", value)))
    if isinstance(value, (list, tuple)):
        return kind(clone(v, memo) for v in cast("list[Any]", value))
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        return value  # a stream or a device has no copy


def freeze(value: Any) -> Any:
    """A tree of outputs with each array frozen; see `Frozen`."""
    if is_tensor(value):
        return _torch[0].freeze(value)
    if _is_numpy(value) or hasattr(value, "__array_interface__"):
        array: Array = np.array(value, copy=True, order="C", subok=False)
        return Frozen("numpy", "cpu", array.dtype.name, array.shape, array)
    if isinstance(value, dict):
        return {k: freeze(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, tuple):
        return tuple(freeze(v) for v in cast("tuple[Any, ...]", value))
    if isinstance(value, list):
        return [freeze(v) for v in cast("list[Any]", value)]
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if hasattr(value, "__array__") and hasattr(value, "dtype") and hasattr(value, "shape"):
        array = np.array(np.asarray(value), copy=True, order="C")
        library = type(value).__module__.split(".", maxsplit=1)[0]
        return Frozen(library, "cpu", array.dtype.name, array.shape, array)
    return Opaque(type(value).__name__, repr(value)[:200])


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a frozen tree with their paths, such as ``output[0]``."""
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(cast("list[Any]", value)):
            yield from leaves(item, f"{path}[{i}]")
    else:
        yield path, value


def _spans(value: Any) -> Iterator[tuple[int, int]]:
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if isinstance(value, (list, tuple)):
        for item in cast("list[Any]", value):
            yield from _spans(item)
    elif is_tensor(value) and value.layout is _torch[0].strided:
        storage = _torch[0].untyped_storage(value)
        if storage.nbytes():
            yield storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    elif _is_numpy(value):
        array: Array = value
        if array.size:
            start: int = array.ctypes.data
            steps = [s * (n - 1) for n, s in zip(array.shape, array.strides, strict=True)]
            low = start + sum(s for s in steps if s < 0)
            yield low, start + sum(s for s in steps if s > 0) + array.itemsize


def extent(value: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], int] | None:
    """Where the elements of an array lie: the address of the first, extents, strides in bytes and
    bytes of each; None of what is no array with strides."""
    if is_tensor(value):
        torch = _torch[0]
        if not torch.plain(value):
            return None
        width: int = torch.element_size(value)
        address = torch.untyped_storage(value).data_ptr() + torch.storage_offset(value) * width
        strides = tuple(d * width for d in torch.stride(value))
        return address, tuple(torch.size(value)), strides, width
    if _is_numpy(value) and not value.dtype.hasobject:
        array: Array = value
        return array.ctypes.data, array.shape, array.strides, array.itemsize
    return None


def shares_memory(value: Any, other: Any) -> bool:
    """Whether an array in one tree overlaps one in the other."""
    theirs = list(_spans(other))
    return any(a < d and c < b for a, b in _spans(value) for c, d in theirs)
