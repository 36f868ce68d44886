# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Example tensors for kernels, made with torch: `cutlass.torch.matrix` and what belongs to it.

In: extents, a numeric class, how to fill. Out: torch tensors, and tensors for kernels on the device
that kernels run on::

    a = matrix(1, 128, 64, False, cutlass.Float8E4M3FN)       # CPU, shape (128, 64, 1)
    a_kernel, a_torch = cute_tensor_like(a, cutlass.Float8E4M3FN, True, assumed_align=16)

Numbers are whole and small by default, so that sums of products of them are exact.
"""

# What torch gives has no types here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import ctypes
import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import ArgumentError, TypeMismatchError
from opencute.integrations import torch_sim
from opencute.integrations.torch_helpers import dtype as torch_dtype
from opencute.integrations.torch_helpers import installed_torch
from opencute.lang.external import ExternalTensor, from_dlpack
from opencute.lang.numbers import NumericMeta, TFloat32
from opencute.lib.convert import convert
from opencute.runtime.dltypes import DLType
from opencute.runtime.external import ExternalArray

__all__ = [
    "GaussianInitConfig", "RandomInitConfig", "ScalarInitConfig", "TensorInitType", "as_tensor",
    "convert_cute_tensor", "create_and_permute_torch_tensor", "cute_tensor_like", "matrix",
]  # fmt: skip

_CPU_KINDS = (1, 3, 11)  # DLPack: host memory, pinned, managed by other means


class TensorInitType(enum.Enum):
    """What a new tensor holds."""

    SKIP = "skip"
    SCALAR = "scalar"
    RANDOM = "random"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class ScalarInitConfig:
    """One number everywhere.

    Args:
        value: the number.
    """

    value: float = 0.0


@dataclass(frozen=True)
class RandomInitConfig:
    """Whole numbers, each as likely.

    Args:
        min_val: the lowest.
        max_val: one past the highest.
    """

    min_val: int = -2
    max_val: int = 2


@dataclass(frozen=True)
class GaussianInitConfig:
    """Numbers of a normal distribution.

    Args:
        mean: its mean.
        std: its standard deviation.
        scale: what each number is multiplied by.
    """

    mean: float = 0.0
    std: float = 1.0
    scale: float = 1.0


_CONFIGS: dict[TensorInitType, type[Any]] = {
    TensorInitType.SCALAR: ScalarInitConfig,
    TensorInitType.RANDOM: RandomInitConfig,
    TensorInitType.GAUSSIAN: GaussianInitConfig,
}


def create_and_permute_torch_tensor(
    shape: Sequence[int],
    dtype: Any,
    permute_order: Sequence[int] | None = None,
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: Any = None,
    device: Any = None,
) -> Any:
    """A torch tensor that is filled, then permuted.

    Args:
        shape: extents in memory order, the last one contiguous.
        dtype: torch dtype.
        permute_order: the order of the modes of the result, as `torch.permute` takes it.
        init_type: what it is filled with.
        init_config: the numbers for it; the class's defaults when omitted.
        device: torch device; the CPU when omitted.

    Raises:
        ArgumentError: OC2233, the order is no permutation.
        TypeMismatchError: OC1610, a config of another kind of filling, or no such kind.
    """
    torch = installed_torch()
    config = _config_for(init_type, init_config)
    sizes = tuple(int(n) for n in shape)
    order = tuple(range(len(sizes))) if permute_order is None else tuple(permute_order)
    if sorted(order) != list(range(len(sizes))):
        raise ArgumentError(
            "permute_order is no permutation of the modes", code="OC2233",
            expected=f"0 to {len(sizes) - 1}, each once", found=order,
        )  # fmt: skip
    if init_type is TensorInitType.SKIP:
        out = torch.empty(sizes, dtype=dtype, device=device)
    elif init_type is TensorInitType.SCALAR:
        out = torch.full(sizes, config.value, dtype=torch.float32, device=device).to(dtype)
    elif init_type is TensorInitType.RANDOM:
        low, high = int(config.min_val), int(config.max_val)
        out = torch.randint(low, max(high, low + 1), sizes, device=device).to(dtype)
    else:
        drawn = torch.randn(sizes, dtype=torch.float32, device=device)
        out = ((drawn * config.std + config.mean) * config.scale).to(dtype)
    return out.permute(order)


def _config_for(init_type: Any, given: Any) -> Any:
    if not isinstance(init_type, TensorInitType):
        raise TypeMismatchError(
            "init_type is a member of TensorInitType", code="OC1610", found=repr(init_type),
            expected=", ".join(m.name for m in TensorInitType),
        )  # fmt: skip
    want = _CONFIGS.get(init_type)
    if want is None:
        return None
    if given is None:
        return want()
    if not isinstance(given, want):
        raise TypeMismatchError(
            "init_config does not go with init_type", code="OC1610",
            expected=f"{want.__name__} for {init_type.name}", found=repr(given),
        )  # fmt: skip
    return given


# Of types that do not hold the usual numbers: powers of two only, two numbers.
_RANGES = {"f8e8m0fnu": (1, 3), "i1": (0, 2)}


def matrix(
    l: int,
    mode0: int,
    mode1: int,
    is_mode0_major: bool,
    cutlass_dtype: NumericMeta,
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: Any = None,
) -> Any:
    """A batch of matrices of shape (mode0, mode1, l) on the CPU.

    Args:
        l: how many matrices.
        mode0: rows.
        mode1: columns.
        is_mode0_major: whether neighbours in a column are neighbours in memory.
        cutlass_dtype: a numeric class; of floats of at most 8 bits and of TFloat32 the numbers are
            kept as float32.
        init_type: what it is filled with.
        init_config: the numbers for it; by default whole numbers from -2 to 1, or 0 to 3 where
            there are no negative ones.
    """
    shape, order = (
        ((l, mode1, mode0), (2, 1, 0)) if is_mode0_major else ((l, mode0, mode1), (1, 2, 0))
    )
    if init_config is None and init_type is TensorInitType.RANDOM:
        t = cutlass_dtype.dtype
        init_config = RandomInitConfig(*_RANGES.get(t.name, (-2, 2) if t.signed else (0, 4)))
    return create_and_permute_torch_tensor(
        shape, _kept_as(cutlass_dtype), order, init_type, init_config
    )


def _kept_as(cls: NumericMeta) -> Any:
    torch = installed_torch()
    narrow = cls.dtype.is_float and cls.width <= 8
    if narrow or cls is TFloat32:
        return torch.float32
    return torch.int8 if cls.width < 8 and not cls.dtype.is_bool else torch_dtype(cls)


def _storage(cls: NumericMeta) -> Any:
    """The torch dtype that memory for a numeric class is allocated with."""
    torch = installed_torch()
    bytes_ = cls.width < 8 if not cls.dtype.is_float else cls.width <= 8
    return torch.uint8 if bytes_ and not cls.dtype.is_bool else _kept_as(cls)


def cute_tensor_like(
    data_ref: Any,
    cutlass_dtype: NumericMeta,
    is_dynamic_layout: bool = True,
    assumed_align: int | None = None,
) -> tuple[Any, Any]:
    """A tensor for kernels with the shape, strides and numbers of a torch tensor.

    Args:
        data_ref: the torch tensor.
        cutlass_dtype: numeric class of the elements.
        is_dynamic_layout: whether shape and strides may differ in later calls.
        assumed_align: as `from_dlpack` takes it.

    Returns:
        The tensor, and the torch tensor that is its memory, on the GPU if there is one: of the same
        type, or of bytes for types of at most 8 bits. Elements of less than 8 bits fill the front
        of it.
    """
    torch = installed_torch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    memory = torch.empty_strided(
        tuple(data_ref.shape), tuple(data_ref.stride()), dtype=_storage(cutlass_dtype),
        device=device,
    )  # fmt: skip
    tensor = _typed(memory, cutlass_dtype, assumed_align)
    if is_dynamic_layout:
        tensor.mark_layout_dynamic(_leading(data_ref))
    return convert_cute_tensor(data_ref, tensor, cutlass_dtype, is_dynamic_layout), memory


def _typed(memory: Any, cls: NumericMeta, assumed_align: int | None) -> ExternalTensor:
    """A tensor of a class over memory of the same width, or of bytes for narrower elements."""
    tensor: Any = from_dlpack(memory, assumed_align=assumed_align)
    if cls.width < 8 and not cls.dtype.is_bool:
        a, code = tensor.array, cls.dtype.dlpack
        assert code is not None
        narrow = ExternalArray(
            a.address, a.shape, a.strides, DLType(*code), a.device, a.read_only, a.owner, False,
            a.framework, a.stream,
        )  # fmt: skip
        tensor = ExternalTensor(narrow, assumed_align, owner=memory)
    tensor.element_type = cls
    return tensor


def _leading(tensor: Any) -> int | None:
    """The longest mode with stride 1; marks cannot deduce it where there are several."""
    ones = [i for i, d in enumerate(tensor.stride()) if d == 1]
    return max(ones, key=lambda i: tensor.shape[i]) if ones else None


def convert_cute_tensor(
    f32_torch_tensor: Any, cute_tensor: Any, dtype: NumericMeta, is_dynamic_layout: bool = True
) -> Any:
    """Fill a tensor with the numbers of a torch tensor, converted to its type.

    Args:
        f32_torch_tensor: the numbers, on any device.
        cute_tensor: the tensor.
        dtype: its numeric class.
        is_dynamic_layout: whether the kernel that converts is to serve other shapes too.

    Returns:
        The tensor.
    """
    torch = installed_torch()
    kind, ordinal = cute_tensor.array.device[:2]
    numbers = f32_torch_tensor.detach()
    if numbers.dtype not in (torch.float64, torch.int64):
        numbers = numbers.to(torch.float32)
    numbers = numbers.cpu() if kind in _CPU_KINDS else numbers.to(f"cuda:{ordinal}")
    source: Any = from_dlpack(numbers)
    if is_dynamic_layout:
        source.mark_layout_dynamic(_leading(numbers))
    if cute_tensor.element_type is not dtype:
        cute_tensor.element_type = dtype
    convert(source, cute_tensor)
    return cute_tensor


class _DeviceMemory:
    """Device memory at an address, as torch takes it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


def as_tensor(pointer: int, shape: Sequence[int], torch_type: Any) -> Any:
    """A contiguous torch tensor over memory at an address; who allocated it keeps it alive.

    Args:
        pointer: the address, of device memory if there is a GPU.
        shape: extents.
        torch_type: torch dtype.

    Raises:
        ArgumentError: OC2234, a null pointer or a negative extent.
    """
    torch = installed_torch()
    sizes = tuple(int(n) for n in shape)
    address = int(pointer)
    if address <= 0 or any(n < 0 for n in sizes):
        raise ArgumentError(
            "as_tensor needs an address and extents", code="OC2234",
            found=f"0x{max(address, 0):x}, {sizes}",
        )  # fmt: skip
    size = math.prod(sizes) * torch.empty((), dtype=torch_type).element_size()
    if not size:
        return torch.empty(sizes, dtype=torch_type)
    if torch.cuda.is_available() and not torch_sim.installed():
        data = torch.as_tensor(_DeviceMemory(address, size), device="cuda")
    else:
        data = torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=torch.uint8)
    return data.view(torch_type).view(sizes)
