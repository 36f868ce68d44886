# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of any framework, described without a copy.

In: a torch tensor, a NumPy array (also of ml_dtypes, also read-only), a JAX array, or any object
with ``__dlpack__``, ``__cuda_array_interface__``, ``__array_interface__`` or the buffer protocol.
Out: an `ExternalArray`::

    export(torch.ones(2, 3, dtype=torch.bfloat16)).dtype.name      # "bfloat16"

torch and NumPy are read directly, without a capsule. Neither is imported for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from opencute.base.errors import ArgumentError
from opencute.runtime.capsule import MAX_VERSION, READ_ONLY, SUBBYTE_PADDED, row_major, take
from opencute.runtime.dltypes import DLType, from_numpy_dtype, from_torch_dtype
from opencute.runtime.external import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, ExternalArray

__all__ = ["export", "forward_level"]

_LEGACY_STREAM = 1  # DLPack's name of the legacy default stream

_readers: dict[type, Callable[[Any], ExternalArray]] = {}
_torch_devices: dict[int, tuple[int, int]] = {}  # by Tensor.get_device(); the CPU is -1
_torch_types: dict[object, DLType] = {}
_grad_enabled: list[Callable[[], bool]] = []


def export(obj: Any, stream: int | None = None) -> ExternalArray:
    """Describe an array of another framework.

    Args:
        obj: the array.
        stream: CUDA stream on which the contents will be used, for producers that synchronise when
            asked through DLPack; the legacy default stream when omitted. torch is not asked: its
            tensors are used on its current stream.

    Raises:
        ArgumentError: not an array, or one whose elements, strides or device cannot be used.
    """
    reader = _readers.get(type(cast(object, obj)))
    if reader is not None:
        return reader(obj)
    return _export_other(obj, stream)


def _export_other(obj: Any, stream: int | None) -> ExternalArray:
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        if not _grad_enabled:
            _grad_enabled.append(torch.is_grad_enabled)
            for kind in (torch.Tensor, torch.nn.Parameter):
                _readers[kind] = _from_torch
        return _from_torch(obj)
    if isinstance(obj, np.ndarray):
        return _from_numpy(cast(Any, obj))
    if isinstance(obj, ExternalArray):
        return obj
    if isinstance(obj, (type, np.generic)):
        raise _not_an_array(cast(object, obj))
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, stream)
    if hasattr(obj, "__cuda_array_interface__"):
        return _from_cuda_interface(obj)
    if hasattr(obj, "__array_interface__"):
        return _from_numpy(np.asarray(obj))
    try:
        view = memoryview(obj)
    except TypeError:
        raise _not_an_array(obj) from None
    return _from_numpy(np.asarray(view))


def _not_an_array(obj: object) -> ArgumentError:
    return ArgumentError(
        f"{type(obj).__name__} is not an array",
        code="OC2010",
        expected="an object with __dlpack__, __cuda_array_interface__ or __array_interface__",
        found=repr(obj)[:80],
        hint="numpy.asarray(x) makes one of it" if isinstance(obj, (list, tuple)) else None,
    )


# torch ------------------------------------------------------------------------------------------


def _from_torch(tensor: Any) -> ExternalArray:
    try:
        address = tensor.data_ptr()
        strides = tensor.stride()
    except RuntimeError as e:  # sparse, fake and functional tensors
        raise ArgumentError(
            f"the tensor has no memory of its own: {e}", code="OC2010", found=_kind(tensor)
        ) from None
    if tensor.requires_grad and _grad_enabled[0]():
        raise ArgumentError(
            "the tensor requires grad, and a kernel's work would be invisible to autograd",
            code="OC2013",
            hint="pass tensor.detach(), or call under torch.no_grad()",
        )
    if forward_level():
        _refuse_tangent(tensor)
    if sys.modules["torch"]._C._len_torch_dispatch_stack():
        _refuse_graph()
    dtype = _torch_types.get(tensor.dtype)
    device = _torch_devices.get(tensor.get_device())
    if dtype is None or device is None:
        dtype, device = _torch_facts(tensor)
    shape = tensor.shape
    if address == 0 and 0 not in shape:
        raise ArgumentError("the tensor has no storage", code="OC2010", found=_kind(tensor))
    if tensor.is_neg() or (dtype.code == 5 and tensor.is_conj()):
        raise ArgumentError(
            "the tensor's memory holds the negated or conjugated values",
            code="OC2010",
            hint="pass tensor.resolve_conj().resolve_neg()",
        )
    # The storage, not only the tensor: `tensor.data = other` would free the memory otherwise.
    owner = (tensor, tensor.untyped_storage())
    return ExternalArray(address, shape, strides, dtype, device, False, owner, False, "torch")


def forward_level() -> bool:
    """Whether torch takes derivatives forwards, so that tensors may have tangents."""
    torch: Any = sys.modules["torch"]
    return getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0


def _refuse_tangent(tensor: Any) -> None:
    torch: Any = sys.modules["torch"]
    # Within a function of torch's that has a rule for them, tensors seem to have none.
    if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        raise ArgumentError(
            "the tensor has a tangent, and a kernel's work would be invisible to autograd",
            code="OC2013",
            hint="pass torch.autograd.forward_ad.unpack_dual(tensor).primal, or call it in the "
            "forward of a torch.autograd.Function that has a jvp",
        )


def _refuse_graph() -> None:
    """Refuse to work where torch writes down what is done with tensors, and would not see it."""
    torch: Any = sys.modules["torch"]
    modes = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    if any(type(m).__name__ == "ProxyTorchDispatchMode" for m in modes):
        raise ArgumentError(
            "torch records a graph, as in make_fx, in which a kernel's work would be missing",
            code="OC2017",
            hint="wrap the operator by torch.library.custom_op, which graphs show as one node, or "
            "call it outside of what is recorded",
        )


def _kind(obj: object) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def _torch_facts(tensor: Any) -> tuple[DLType, tuple[int, int]]:
    """Element type and device of a tensor, remembered for the next one like it."""
    torch: Any = sys.modules["torch"]
    kind = {"cpu": CPU, "cuda": CUDA}.get(tensor.device.type)
    # A ROCm build calls its devices cuda too.
    if kind is None or (kind == CUDA and torch.version.hip is not None):
        raise ArgumentError(
            f"tensors on {tensor.device} cannot be used", code="OC2010", expected="cpu or cuda"
        )
    device = (kind, tensor.device.index or 0)
    dtype = from_torch_dtype(tensor.dtype)
    _torch_types[tensor.dtype] = dtype
    _torch_devices[tensor.get_device()] = device
    return dtype, device


# NumPy ------------------------------------------------------------------------------------------


def _from_numpy(array: np.ndarray[Any, Any]) -> ExternalArray:
    if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            "masked arrays have no plain memory", code="OC2010", hint="pass array.data"
        )
    if not array.flags.aligned:
        raise ArgumentError(
            "the array's elements are not aligned: kernels read whole elements", code="OC2016",
            expected=f"an address that is a multiple of {array.dtype.alignment}",
            found=hex(array.ctypes.data), hint="pass a copy: array.copy()",
        )  # fmt: skip
    dtype = from_numpy_dtype(array.dtype)
    interface = array.__array_interface__
    address, read_only = interface["data"]
    strides = (
        row_major(array.shape)
        if interface["strides"] is None
        else _element_strides(array.strides, array.itemsize, array.shape)
    )
    return ExternalArray(
        address, array.shape, strides, dtype, (CPU, 0), read_only, array, dtype.bits < 8, "numpy"
    )  # fmt: skip


_readers[np.ndarray] = _from_numpy


def _element_strides(
    strides: tuple[int, ...], itemsize: int, shape: tuple[int, ...]
) -> tuple[int, ...]:
    result: list[int] = []
    for stride, extent in zip(strides, shape, strict=True):
        step, rest = divmod(stride, itemsize)
        if rest and extent > 1:
            raise ArgumentError(
                f"a stride of {stride} bytes is no multiple of the element's {itemsize}",
                code="OC2015",
                hint="pass a contiguous copy: array.copy()",
            )
        result.append(step)
    _check_strides(tuple(result), shape)
    return tuple(result)


def _check_strides(strides: tuple[int, ...], shape: tuple[int, ...]) -> None:
    if any(s < 0 and n > 1 for s, n in zip(strides, shape, strict=True)):
        raise ArgumentError(
            "the array runs backwards through memory",
            code="OC2015",
            expected="strides that are not negative",
            found=strides,
            hint="pass a contiguous copy: array.copy()",
        )


# protocols --------------------------------------------------------------------------------------


def _from_dlpack(obj: Any, stream: int | None) -> ExternalArray:
    try:
        kind, index = (int(x) for x in obj.__dlpack_device__())
        arguments: dict[str, Any] = {}
        if kind in (CUDA, CUDA_MANAGED):
            arguments["stream"] = _LEGACY_STREAM if stream is None or stream == 0 else stream
        elif kind not in (CPU, CUDA_HOST):
            raise ArgumentError(
                f"arrays on DLPack device {kind}:{index} cannot be used",
                code="OC2010",
                expected="CPU or CUDA",
            )
        try:
            capsule = obj.__dlpack__(max_version=MAX_VERSION, **arguments)
        except TypeError:  # a producer from before DLPack 1.0
            capsule = obj.__dlpack__(**arguments)
    except (BufferError, RuntimeError) as e:
        raise ArgumentError(
            f"{type(obj).__name__} does not share its memory: {e}", code="OC2010"
        ) from e
    taken = take(capsule)
    _check_strides(taken.strides, taken.shape)
    return ExternalArray(
        taken.address,
        taken.shape,
        taken.strides,
        taken.dtype,
        taken.device,
        bool(taken.flags & READ_ONLY),
        (taken, obj),
        bool(taken.flags & SUBBYTE_PADDED) and taken.dtype.bits < 8,
        type(obj).__module__.split(".")[0].removesuffix("lib"),
        arguments.get("stream"),
    )


def _from_cuda_interface(obj: Any) -> ExternalArray:
    interface: dict[str, Any] = obj.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ArgumentError("masked arrays have no plain memory", code="OC2010")
    address, read_only = interface["data"]
    shape = tuple(interface["shape"])
    dtype = from_numpy_dtype(np.dtype(interface["typestr"]))
    strides = interface.get("strides")
    steps = (
        row_major(shape)
        if strides is None
        else _element_strides(tuple(strides), dtype.itemsize, shape)
    )
    index = 0
    if address:
        # Not at the top: nothing else here needs the driver.
        from opencute.runtime import driver

        index = driver.pointer_device(address)
    return ExternalArray(
        address or 0,
        shape,
        steps,
        dtype,
        (CUDA, index),
        bool(read_only),
        obj,
        False,
        type(obj).__module__.split(".")[0],
        interface.get("stream"),
    )
