# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A CUDA device for torch on a machine that has none: CPU tensors that answer "cuda".

In: nothing; never active unless `install()` is called or `simulated_cuda()` is entered. Out: files
that say ``device="cuda"`` run; `data_ptr()` is a real host address that the simulator can use::

    with simulated_cuda():
        x = torch.randn(4, device="cuda")
        x.is_cuda, x.device          # True, device(type='cuda', index=0)

Covered: a torch function mode on every thread (also those started later), `torch.cuda`,
`torch.accelerator`, generators, streams, events, graphs. `torch.compile` becomes the identity,
since no GPU code could be made. Not covered: `torch.load(map_location="cuda")`, legacy tensor
types, and device queries inside torch's own composite functions (they see the CPU; results are
the same).
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from opencute.integrations import torch_addresses
from opencute.integrations import torch_marks as marks
from opencute.integrations.torch_cuda import CUDAGraph, SimulatedDevice
from opencute.integrations.torch_rewrite import Rewriter, normalize_device
from opencute.integrations.torch_rng import CudaRandom, generator_class

__all__ = [
    "capturing_graph", "install", "installed", "is_cuda", "is_uninitialized", "mark_initialized",
    "mark_uninitialized", "memory", "note_written", "on_empty", "simulated_cuda", "uninstall",
    "written_bytes",
]  # fmt: skip

on_empty: list[Callable[[Any], None]] = []
"""Called with each tensor that `torch.empty*` makes while the device is installed."""

is_cuda = marks.is_cuda
is_uninitialized = marks.is_uninitialized
mark_initialized = marks.mark_initialized
mark_uninitialized = marks.mark_uninitialized
note_written = marks.note_written
written_bytes = marks.written_bytes
memory = torch_addresses.memory

_MISSING = object()


class _Installation:
    """Everything that was changed, so that it can be changed back."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.changed: list[tuple[Any, str, Any]] = []
        self.random = CudaRandom(torch)
        self.rewriter = Rewriter(torch, self.random, on_empty)
        self.mode_type = _mode_type(torch, self.rewriter)
        self.mode = self.mode_type()

    def set(self, owner: Any, name: str, value: object) -> None:
        """Replace an attribute and remember what it was."""
        self.changed.append((owner, name, owner.__dict__.get(name, _MISSING)))
        setattr(owner, name, value)

    def apply(self) -> None:
        torch = self.torch
        device = SimulatedDevice(torch, self.random, partial(normalize_device, torch))
        for name, value in device.members().items():
            self.set(torch.cuda, name, value)
        for name, value in device.nvtx_members().items():
            self.set(torch.cuda.nvtx, name, value)
        if hasattr(torch, "accelerator"):
            for name, value in device.accelerator_members().items():
                self.set(torch.accelerator, name, value)
        self.set(torch, "Generator", generator_class(torch, partial(normalize_device, torch)))
        self.set(torch, "compile", _identity_compile)
        self.set(torch.Tensor, "data_ptr", torch_addresses.noting(torch.Tensor.data_ptr))
        self.set(torch.Tensor, "record_stream", _record_stream)  # checks its type before any mode
        self.set(torch, "from_dlpack", self._keeping_mark(torch.from_dlpack))
        self.set(torch.utils.dlpack, "from_dlpack", torch.from_dlpack)
        self._patch_autograd()
        self._patch_threads()
        self.mode.__enter__()

    def remove(self) -> None:
        self.mode.__exit__(None, None, None)
        for owner, name, value in reversed(self.changed):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    def _keeping_mark(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`real`, with a result that lives where its argument lives: they share memory."""

        @wraps(real)
        def from_dlpack(source: Any, *args: Any, **kwargs: Any) -> Any:
            result = real(source, *args, **kwargs)
            if isinstance(source, self.torch.Tensor) and marks.is_cuda(source):
                marks.mark_cuda(result)
            return result

        return from_dlpack

    def _patch_autograd(self) -> None:
        """A user's `backward` is called by the engine, outside any mode: enter ours around it."""
        node: Any = self.torch.autograd.function.BackwardCFunction
        for name in ("apply", "apply_boxed"):
            real = node.__dict__.get(name)
            if real is not None:
                self.set(node, name, self._on_device(real))

    def _on_device(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def apply(context: Any, *gradients: Any) -> Any:
            saved = getattr(context, "saved_tensors", ())
            self.rewriter.mark_gradients(saved, gradients)
            with self.mode_type():
                return real(context, *gradients)

        return apply

    def _patch_threads(self) -> None:
        """Function modes belong to one thread: give each new thread its own."""
        start = threading.Thread.start
        mode_type = self.mode_type

        def start_with_mode(thread: threading.Thread) -> None:
            run = thread.run

            def run_with_mode() -> None:
                with mode_type():
                    run()

            thread.run = run_with_mode
            start(thread)

        self.set(threading.Thread, "start", start_with_mode)


def _mode_type(torch: Any, rewriter: Rewriter) -> Any:
    base: Any = torch.overrides.TorchFunctionMode

    class SimulatedCuda(base):
        """Sends every torch call of a thread through the rewriter."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return rewriter(func, args, kwargs or {})

    return SimulatedCuda


def _record_stream(tensor: Any, stream: Any) -> None:
    """Memory is not reused while work is pending: no work is ever pending."""


def _identity_compile(model: Any = None, **options: Any) -> Any:
    """`torch.compile` without compiling."""

    def unchanged(function: Any) -> Any:
        return function

    return unchanged if model is None else model


_current: list[_Installation] = []


def install() -> None:
    """Make torch believe in one CUDA device, until `uninstall()`. Does nothing the second time."""
    if not _current:
        installation = _Installation(importlib.import_module("torch"))
        installation.apply()
        _current.append(installation)


def uninstall() -> None:
    """Undo `install()`. Tensors keep their values and become plain CPU tensors."""
    if _current:
        _current.pop().remove()
        CUDAGraph.capturing = None


def installed() -> bool:
    """Whether the simulated device is in place."""
    return bool(_current)


@contextmanager
def simulated_cuda() -> Generator[None, None, None]:
    """The simulated device for a block; nested use is fine."""
    if installed():
        yield
        return
    install()
    try:
        yield
    finally:
        uninstall()


def capturing_graph() -> CUDAGraph | None:
    """The graph that is being captured; hand it launches with `record` so that it replays them."""
    return CUDAGraph.capturing
