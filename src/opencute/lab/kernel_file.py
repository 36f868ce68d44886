# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A user's kernel file: loading it, and calling its functions without trusting them.

In: a path. Out: a `KernelFile` with `kernel_fn(*inputs)`, `reference_fn(*inputs)`, `get_inputs()`
and the optional byte and operation counts; errors as `UserError` with the user's frames only::

    file = KernelFile.load(Path("relu.py"))
    args, kwargs = file.inputs()
    file.call(file.kernel_fn, args, kwargs)
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from opencute.base.tracebacks import users_only

__all__ = ["KernelFile", "UserError"]

MODULE_NAME = "opencute_kernel_file"
REQUIRED = ("kernel_fn", "reference_fn", "get_inputs")


class UserError(Exception):
    """Something in the user's file went wrong; the message is complete."""


def _describe(error: BaseException, doing: str) -> str:
    try:
        text = str(error)
    except Exception:  # a hostile __str__ must not hide the error
        text = "(its text cannot be shown)"
    if isinstance(error, SystemExit):
        return f"the file called exit({text}) while {doing}"
    own = str(Path(__file__).parent)
    trace = users_only(error).__traceback__
    frames = [f for f in traceback.extract_tb(trace) if not f.filename.startswith(own)]
    where = "".join(f"\n  {f.filename}:{f.lineno} in {f.name}: {f.line or ''}" for f in frames[-6:])
    return f"{type(error).__name__} while {doing}: {text}{where}"


def guarded(doing: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`; whatever it raises, `SystemExit` included, is a UserError."""
    try:
        return function(*args, **kwargs)
    except UserError:
        raise
    except BaseException as error:
        raise UserError(_describe(error, doing)) from error


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    # The loader would take bytecode of an earlier text whose length and second are the same.
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


@dataclass(frozen=True)
class KernelFile:
    """The exports of a kernel file, taken once, so that later rebinding changes nothing."""

    path: Path
    kernel_fn: Callable[..., Any]
    reference_fn: Callable[..., Any]
    get_inputs: Callable[[], Any]
    bytes_source: Any = None
    flops_source: Any = None

    @classmethod
    def load(cls, path: Path) -> KernelFile:
        """Import the file.

        Raises:
            UserError: the import fails or an export is missing.
        """
        sys.path.insert(0, str(path.parent))
        module = guarded(f"importing {path.name}", _import, path)
        missing = [n for n in REQUIRED if not callable(getattr(module, n, None))]
        if missing:
            raise UserError(
                f"{path.name} does not define {' and '.join(missing)}; a kernel file exports the "
                "functions kernel_fn(*inputs), reference_fn(*inputs) and get_inputs()"
            )
        return cls(
            path,
            module.kernel_fn,
            module.reference_fn,
            module.get_inputs,
            getattr(module, "get_bytes", getattr(module, "bytes_moved", None)),
            getattr(module, "get_flops", None),
        )

    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments from `get_inputs()`."""
        value = guarded("get_inputs() ran", self.get_inputs)
        if isinstance(value, dict):
            return (), cast("dict[str, Any]", value)
        if isinstance(value, Iterator):
            value = guarded("get_inputs() ran", tuple, value)
        if isinstance(value, (list, tuple)):
            return tuple(cast("tuple[Any, ...]", value)), {}
        return (value,), {}

    def count(self, source: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
        """Bytes or operations of a call: a number, a dict of numbers, or a function of inputs."""
        if source is None:
            return None
        value = guarded("counting bytes", source, *args, **kwargs) if callable(source) else source
        if isinstance(value, dict):
            value = sum(cast("dict[str, float]", value).values())
        return float(value)
