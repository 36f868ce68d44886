# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How one torch call is carried out on the simulated device.

In: the function, its arguments, as a torch function mode sees them. Out: its result, computed on
the CPU, with marks saying which tensors stand for CUDA tensors::

    torch.empty(4, device="cuda")   ->   t = torch.empty(4, device="cpu"); mark_cuda(t)

Rules: an explicit device decides; else the result of an operation on a device tensor is a device
tensor; operations that may mix devices follow their first argument; all others refuse a mix, as
torch does, except CPU scalars. Device tensors refuse `numpy()`. The default device is honoured.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from opencute.integrations import torch_marks as marks
from opencute.integrations.torch_cuda import CUDAGraph
from opencute.integrations.torch_rng import RANDOM_FUNCTIONS, CudaRandom

__all__ = ["Rewriter", "normalize_device"]

# Operations that accept tensors of different devices; their result follows the first argument.
_MAY_MIX = frozenset((
    "copy_", "_foreach_copy_", "__setitem__", "__getitem__", "index_put", "index_put_", "type_as",
    "__set__", "set_", "_has_compatible_shallow_copy_type", "tensor_split",
    "pack_padded_sequence", "_pack_padded_sequence", "expand_as", "view_as", "reshape_as",
    "resize_as_", "new_tensor", "is_set_to", "is_same_size", "result_type", "can_cast",
    "swap_tensors", "register_hook", "__dlpack__", "__deepcopy__", "__reduce_ex__",
    "tensor", "as_tensor", "asarray",
))  # fmt: skip
# What torch's allocator of CUDA memory gives; kernels are compiled with promises that rest on it.
_ALIGNMENT = 512
# In-place spellings that write no element.
_WRITES_NOTHING = frozenset((
    "requires_grad_", "detach_", "share_memory_", "as_strided_", "squeeze_", "unsqueeze_", "t_",
    "transpose_", "swapaxes_", "swapdims_", "rename_", "resize_", "resize_as_",
))  # fmt: skip


def normalize_device(torch: Any, device: Any) -> Any:
    """The `torch.device` that a device argument names, with an index where it is a CUDA device.

    Raises:
        RuntimeError: for a CUDA index that does not exist.
    """
    if isinstance(device, bool) or device is None:
        return torch.device("cpu") if device is None else torch.device("cuda", int(device))
    if isinstance(device, int):
        device = torch.device("cuda", device)
    elif not isinstance(device, torch.device):
        device = torch.device(device)
    if device.type == "cuda":
        if device.index not in (None, 0, -1):
            raise RuntimeError("CUDA error: invalid device ordinal (the simulator has one device)")
        return torch.device("cuda", 0)
    return device


class Rewriter:
    """Carries out torch calls on the simulated device.

    Args:
        torch: the torch module.
        random: the device's random state.
        on_empty: called with each tensor that `torch.empty*` makes.
    """

    def __init__(
        self, torch: Any, random: CudaRandom, on_empty: list[Callable[[Any], None]]
    ) -> None:
        self.torch = torch
        self.random = random
        self.on_empty = on_empty
        self.local = threading.local()
        self.default = importlib.import_module("torch.utils._device")
        tensor = torch.Tensor
        self.tensor: type = tensor
        self.cuda0 = torch.device("cuda", 0)
        self.constructors: set[Any] = set(self.default._device_constructors())
        self.empties = {
            f for f in (
                torch.empty, torch.empty_like, torch.empty_strided,
                getattr(torch, "empty_permuted", None), tensor.new_empty, tensor.new_empty_strided,
            ) if f is not None
        }  # fmt: skip
        self.untouched = {torch.device, torch._C._nn._parse_to}
        self.special: dict[Any, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {
            tensor.device.__get__: self._device,
            tensor.is_cuda.__get__: self._is_cuda,
            tensor.is_cpu.__get__: self._is_cpu,
            tensor.get_device: self._get_device,
            tensor.to: self._to,
            tensor.cuda: self._cuda,
            tensor.cpu: self._cpu,
            tensor.type: self._type,
            tensor.numpy: self._numpy,
            tensor.__array__: self._numpy,
            tensor.pin_memory: self._pin,
            tensor.is_pinned: self._is_pinned,
            tensor.__repr__: self._repr,
            tensor.__format__: self._format,
            tensor.__dlpack__: self._dlpack,
        }
        if hasattr(torch, "get_device"):
            self.special[torch.get_device] = self._get_device
        self.backwards = {tensor.backward, torch.autograd.backward, torch.autograd.grad}

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of `func(*args, **kwargs)` as the simulated device gives it."""
        try:
            special = self.special.get(func)
        except TypeError:  # an unhashable callable is none of ours
            special = None
        if special is not None:
            return special(func, args, kwargs)
        if func in self.untouched:
            return func(*args, **kwargs)
        if func in self.backwards:
            with self._backward(any(map(marks.is_cuda, self._tensors((args, kwargs))))):
                return func(*args, **kwargs)
        on_cuda, args, kwargs = self._take_device(func, args, kwargs)
        return self._apply(func, args, kwargs, on_cuda)

    # The general case.

    def _tensors(self, value: Any) -> list[Any]:
        return marks.tensors_in(self.tensor, value)

    def _take_device(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bool | None, tuple[Any, ...], dict[str, Any]]:
        """Whether the call says where its result lives, and the call with CPU in place of CUDA."""
        torch = self.torch
        wanted = kwargs.get("device")
        if wanted is None and func in self.constructors:
            wanted = getattr(self.default, "CURRENT_DEVICE", None)
        if wanted is not None:
            device = normalize_device(torch, wanted)
            if device.type == "cuda":
                return True, args, {**kwargs, "device": torch.device("cpu")}
            return False, args, kwargs
        for i, value in enumerate(args):
            if isinstance(value, torch.device):
                device = normalize_device(torch, value)
                if device.type == "cuda":
                    return True, (*args[:i], torch.device("cpu"), *args[i + 1 :]), kwargs
                return False, args, kwargs
        return None, args, kwargs

    def _apply(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], on_cuda: bool | None
    ) -> Any:
        """Run the call on the CPU and mark what came out.

        Args:
            on_cuda: where the result lives; None to decide by the arguments.
        """
        name: str = getattr(func, "__name__", "")
        inputs = self._tensors((args, kwargs))
        cuda_inputs = [marks.is_cuda(t) for t in inputs]
        if on_cuda is None:
            on_cuda = self._result_is_cuda(name, args, inputs, cuda_inputs)
        pin = bool(kwargs.get("pin_memory")) and func in (self.constructors | self.empties)
        if pin:
            kwargs = {**kwargs, "pin_memory": False}
        with self._random(name, kwargs, on_cuda):
            result = func(*args, **kwargs)
        graph = CUDAGraph.capturing
        if graph is not None and (on_cuda or any(cuda_inputs)):
            self._record(graph, name, func, args, kwargs, result)
        known = {id(t) for t in inputs}
        fresh = func in self.empties
        for tensor in self._tensors(result):
            if id(tensor) not in known:
                self._mark_result(tensor, on_cuda, pin, fresh)
        self._note_writes(func, name, args, kwargs, result)
        return result

    def _result_is_cuda(
        self, name: str, args: tuple[Any, ...], inputs: list[Any], cuda_inputs: list[bool]
    ) -> bool:
        if name in _MAY_MIX:
            first = args[0] if args else None
            return isinstance(first, self.tensor) and marks.is_cuda(first)
        on_cuda = any(cuda_inputs)
        if on_cuda and not all(cuda_inputs):
            for tensor, is_cuda in zip(inputs, cuda_inputs, strict=True):
                if not is_cuda and tensor.dim() > 0 and tensor.is_cpu:
                    raise RuntimeError(
                        "Expected all tensors to be on the same device, but found at least two "
                        f"devices, cuda:0 and cpu! (when calling {name})"
                    )
        return on_cuda

    def _mark_result(self, tensor: Any, on_cuda: bool, pin: bool, fresh: bool = False) -> None:
        if on_cuda and tensor.is_cpu:
            if not marks.is_cuda(tensor):
                self._align(tensor, fresh)
            marks.mark_cuda(tensor)
        if pin:
            marks.mark_pinned(tensor)

    def _align(self, tensor: Any, fresh: bool) -> None:
        """Move new memory to where the device's allocator could have put it.

        Args:
            tensor: it has all of its storage to itself.
            fresh: it has no values yet.
        """
        torch = self.torch
        if type(tensor) is not self.tensor or tensor.layout is not torch.strided:
            return
        old = tensor.untyped_storage()
        size = old.nbytes()
        if size == 0 or old.data_ptr() % _ALIGNMENT == 0:
            return
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        new = torch.from_numpy(memory[start : start + size]).untyped_storage()
        if not fresh:
            new.copy_(old)
        moved = torch.empty(0, dtype=tensor.dtype, device="cpu")
        moved.set_(new, tensor.storage_offset(), tensor.size(), tensor.stride())
        tensor.data = moved

    def _random(self, name: str, kwargs: dict[str, Any], on_cuda: bool) -> Any:
        if name not in RANDOM_FUNCTIONS:
            return nullcontext()
        generator = kwargs.get("generator")
        if generator is None:
            return self.random.active() if on_cuda else nullcontext()
        expected = "cuda" if on_cuda else "cpu"
        if generator.device.type != expected:
            raise RuntimeError(
                f"Expected a '{expected}' device type for generator but found "
                f"'{generator.device.type}'"
            )
        return nullcontext()

    def _note_writes(
        self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if func in self.empties:
            for tensor in self._tensors(result):
                marks.mark_uninitialized(tensor)
                for hook in self.on_empty:
                    hook(tensor)
            return
        written: list[Any] = []
        if (
            name == "__setitem__"
            or kwargs.get("inplace")
            or (name.endswith("_") and not name.endswith("__") and name not in _WRITES_NOTHING)
        ):
            written = self._tensors(args[:1] or kwargs.get("tensor"))
        if "out" in kwargs:
            written += self._tensors(kwargs["out"])
        for tensor in written:
            marks.mark_initialized(tensor)

    def _record(
        self, graph: CUDAGraph, name: str, func: Any, args: Any, kwargs: Any, result: Any
    ) -> None:
        """Have a replay run the call again, into the tensors that it made at capture."""
        made = self._tensors(result)
        if not made and name != "__setitem__":
            return

        def again() -> None:
            with self.torch.no_grad(), self._random(name, kwargs, True):
                new = self._tensors(func(*args, **kwargs))
                for old, fresh in zip(made, new, strict=True):
                    if old.data_ptr() != fresh.data_ptr():
                        old.copy_(fresh)

        graph.record(again)

    # Autograd: the engine makes gradients where no function mode sees them.

    @contextmanager
    def _backward(self, on_cuda: bool) -> Generator[None, None, None]:
        before = getattr(self.local, "backward_on_cuda", False)
        self.local.backward_on_cuda = on_cuda
        try:
            yield
        finally:
            self.local.backward_on_cuda = before

    def mark_gradients(self, saved: Any, gradients: Any) -> None:
        """Mark the gradients that a user's `backward` gets, if that pass runs on the device."""
        on_cuda = getattr(self.local, "backward_on_cuda", False)
        if on_cuda or any(map(marks.is_cuda, self._tensors(saved))):
            for tensor in self._tensors(gradients):
                self._mark_result(tensor, True, False)

    # Calls with a meaning of their own.

    def _device(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self.cuda0 if marks.is_cuda(args[0]) else func(*args, **kwargs)

    def _is_cuda(self, func: Any, args: Any, kwargs: Any) -> Any:
        return marks.is_cuda(args[0])

    def _is_cpu(self, func: Any, args: Any, kwargs: Any) -> Any:
        return not marks.is_cuda(args[0]) and func(*args, **kwargs)

    def _get_device(self, func: Any, args: Any, kwargs: Any) -> Any:
        return 0 if marks.is_cuda(args[0]) else func(*args, **kwargs)

    def _move(self, tensor: Any, on_cuda: bool, options: dict[str, Any]) -> Any:
        """`tensor` on the wanted side: a copy when it is on the other one, as on a GPU."""
        if marks.is_cuda(tensor) != on_cuda:
            options = {**options, "copy": True}
        options.pop("non_blocking", None)
        return self._apply(self.torch.Tensor.to, (tensor,), {"device": "cpu", **options}, on_cuda)

    def _to(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, *rest = args
        options = dict(kwargs)
        device: Any = options.pop("device", None)
        other: Any = options.pop("other", None)
        if rest and isinstance(rest[0], self.tensor):
            other, *rest = rest
        elif rest and (rest[0] is None or isinstance(rest[0], (str, int, self.torch.device))):
            device, *rest = rest
            if rest:
                options["dtype"], *rest = rest
        elif rest:
            options["dtype"], *rest = rest
        options.update(zip(("non_blocking", "copy"), rest, strict=False))
        if other is not None:
            options["dtype"] = other.dtype
            device = self.cuda0 if marks.is_cuda(other) else other.device
        options = {k: v for k, v in options.items() if v is not None}
        if device is None:
            return self._move(tensor, marks.is_cuda(tensor), options)
        device = normalize_device(self.torch, device)
        if device.type in ("cuda", "cpu"):
            return self._move(tensor, device.type == "cuda", options)
        return self._apply(func, (tensor, device), options, False)

    def _cuda(self, func: Any, args: Any, kwargs: Any) -> Any:
        device = args[1] if len(args) > 1 else kwargs.get("device")
        if device is not None and normalize_device(self.torch, device).type != "cuda":
            raise RuntimeError(f"Invalid device, must be cuda device: {device}")
        return self._move(args[0], True, _without_device(kwargs))

    def _cpu(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self._move(args[0], False, _without_device(kwargs))

    def _type(self, func: Any, args: Any, kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            name: str = func(*args)
            return name.replace("torch.", "torch.cuda.", 1) if marks.is_cuda(args[0]) else name
        return self._apply(func, args, kwargs, None)

    def _numpy(self, func: Any, args: Any, kwargs: Any) -> Any:
        if marks.is_cuda(args[0]):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        marks.mark_initialized(args[0])  # the array may be written through, unseen
        return func(*args, **kwargs)

    def _pin(self, func: Any, args: Any, kwargs: Any) -> Any:
        if marks.is_cuda(args[0]):
            raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be")
        copy = args[0].clone()
        marks.mark_pinned(copy)
        return copy

    def _is_pinned(self, func: Any, args: Any, kwargs: Any) -> Any:
        return marks.is_pinned(args[0])

    def _dlpack(self, func: Any, args: Any, kwargs: Any) -> Any:
        # The memory is the host's, so no stream can order an access to it.
        return func(args[0], **{k: v for k, v in kwargs.items() if k not in ("stream",)})

    def _repr(self, func: Any, args: Any, kwargs: Any) -> Any:
        text: str = func(*args, **kwargs)
        if not marks.is_cuda(args[0]):
            return text
        end = text.rfind("]") + 1
        if not end:  # a scalar: the value ends at the first comma or at the closing bracket
            end = min(i for i in (text.find(","), len(text) - 1) if i > 0)
        return f"{text[:end]}, device='cuda:0'{text[end:]}"

    def _format(self, func: Any, args: Any, kwargs: Any) -> Any:
        if marks.is_cuda(args[0]) and args[0].dim() > 0:
            return format(self._repr(self.torch.Tensor.__repr__, args[:1], {}), *args[1:])
        return func(*args, **kwargs)


def _without_device(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if k != "device" and v is not None}
