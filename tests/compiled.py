# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Running pieces of the language in the simulator: what tests of lang, frontend and cute share.

In: a function on tensors (or on numbers), and arrays. Out: the arrays, changed in place::

    out = np.zeros(4, np.int32)
    on_device(lambda o: o.store(o.load() + 1), out)

A lambda or helper is inlined as it stands; decorate it with `cute.jit` where its control flow has
to be rewritten.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import opencute as cutlass
from opencute import cute
from opencute.cute.runtime import from_dlpack

__all__ = ["CLASSES", "NUMPY", "elementwise", "load_source", "on_device", "on_host"]

NUMPY: dict[Any, Any] = {
    cutlass.Boolean: np.dtype(np.bool_),
    cutlass.Int8: np.dtype(np.int8),
    cutlass.Int16: np.dtype(np.int16),
    cutlass.Int32: np.dtype(np.int32),
    cutlass.Int64: np.dtype(np.int64),
    cutlass.Uint8: np.dtype(np.uint8),
    cutlass.Uint16: np.dtype(np.uint16),
    cutlass.Uint32: np.dtype(np.uint32),
    cutlass.Uint64: np.dtype(np.uint64),
    cutlass.Float16: np.dtype(np.float16),
    cutlass.BFloat16: np.dtype(ml_dtypes.bfloat16),
    cutlass.Float32: np.dtype(np.float32),
    cutlass.Float64: np.dtype(np.float64),
}
CLASSES = tuple(NUMPY)


@cute.kernel
def _kernel(body: cutlass.Constexpr, args: Any):
    body(*args)


@cute.jit
def _launch(body: cutlass.Constexpr, args: Any, grid: cutlass.Constexpr, block: cutlass.Constexpr):
    _kernel(body, args).launch(grid=grid, block=block)


def _wrap(x: Any, dynamic: bool) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    t = from_dlpack(x)
    return t.mark_layout_dynamic() if dynamic and x.ndim else t


def on_device(
    body: Callable[..., Any], *args: Any, grid: Any = 1, block: Any = 1, dynamic: bool = False
) -> None:
    """Call `body` in a kernel; NumPy arrays become tensors, static unless `dynamic`."""
    _launch(body, [_wrap(a, dynamic) for a in args], grid, block)


@cute.jit
def _host(body: cutlass.Constexpr, args: Any):
    body(*args)


def on_host(body: Callable[..., Any], *args: Any, dynamic: bool = False) -> None:
    """Call `body` in a host function."""
    _host(body, [_wrap(a, dynamic) for a in args])


def elementwise(body: Callable[..., Any], inputs: list[Any], outputs: list[Any]) -> None:
    """One thread per element: `body` takes a number of each input, gives one for each output."""

    def each(*tensors: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        results = body(*(t[i] for t in tensors[: len(inputs)]))
        for t, r in zip(tensors[len(inputs) :], results, strict=True):
            t[i] = r

    on_device(each, *inputs, *outputs, block=len(inputs[0]))


_files = itertools.count()


def load_source(text: str, folder: Path, **names: Any) -> types.ModuleType:
    """Python source as a module; its functions can be decorated, as their file can be read."""
    path = folder / f"source_{next(_files)}.py"
    path.write_text(text)
    module = types.ModuleType(path.stem)
    module.__dict__.update({"cutlass": cutlass, "cute": cute, **names})
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # dataclasses look their module up
    exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    return module
