# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""``cute.runtime.load_module``: exported functions, to be called again from Python.

In: an object file, or a shared library or program that it was linked into. Out: a module with the
functions as attributes; they take what the compiled functions took and check it in the same way.
Nothing is traced or compiled for a GPU; in the simulator the exported IR runs::

    module = cute.runtime.load_module("build/librelu.so")
    module.relu(torch_tensor)
"""

from __future__ import annotations

import difflib
import importlib.util
import inspect
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from opencute.base.errors import ArgumentError
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.options import Options
from opencute.compiler.targets import run_target
from opencute.frontend.arguments.returns import python_number
from opencute.frontend.signature import spec_of
from opencute.ir.parser import parse
from opencute.jit.calls import pickled
from opencute.jit.executor import Executor, fast_executor
from opencute.jit.export.parameters import Examples
from opencute.jit.request import Request
from opencute.jit.runners import ReturningRunner, make_runner
from opencute.lang.pointers import AddressSpace
from opencute.numeric.dtypes import DTYPES
from opencute.runtime.aot.package import Package, find_packages

__all__ = ["LoadedModule", "find_runtime_libraries", "load_module"]


class LoadedModule:
    """The functions of one file, as attributes.

    Args:
        path: the file.
        packages: what it carries.
    """

    def __init__(self, path: Path, packages: list[Package]) -> None:
        self._path = path
        self._packages = {str(p.header["name"]): p for p in packages}

    def __getattr__(self, name: str) -> Executor:
        package = self._packages.get(name)
        if package is None:
            close = difflib.get_close_matches(name, self._packages, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise AttributeError(f"{self._path} exports no function {name!r}{hint}")
        function = _function(package)
        setattr(self, name, function)
        return function

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._packages]

    def __repr__(self) -> str:
        return f"<module from {self._path}: {', '.join(self._packages)}>"


def load_module(file_path: Any, *, enable_tvm_ffi: bool = False) -> LoadedModule:
    """The exported functions of a file.

    Args:
        file_path: an object file, a shared library or a program.
        enable_tvm_ffi: accepted; functions take frameworks' tensors in any case.

    Raises:
        ArgumentError: OC2148, there is no such file, it exports nothing, or it is damaged.
    """
    path = Path(file_path)
    try:
        data = path.read_bytes()
    except OSError as e:
        raise ArgumentError(
            f"cannot read {path}: {e.strerror}", code="OC2148", found=str(path.absolute()),
            hint=None if path.is_absolute() else "the path is taken from the working directory",
        ) from None  # fmt: skip
    packages = list(find_packages(data, str(path)))
    if not packages:
        raise ArgumentError(
            f"{path} has no exported functions", code="OC2148",
            hint="write it with compiled.export_to_c(...)",
        )  # fmt: skip
    return LoadedModule(path, packages)


def _function(package: Package) -> Executor:
    header = package.header
    where = run_target("" if _simulated() else str(header["target"]))
    artefacts = Artefacts(
        str(header["symbol"]), parse(package.ir, header["name"]), str(header["target"]), Options()
    )
    artefacts.take_cubin(package.cubin)
    request = _request(header, where)
    runner = make_runner(artefacts, where)
    if header["results"]:
        runner = ReturningRunner(runner, _Numbers(header["results"]))
    executor = Executor(request, runner, _no_other, pickled)
    return fast_executor(executor) if where.kind == "cuda" else executor


class _Numbers:
    """What an exported function returns: its number, or a tuple of them."""

    def __init__(self, dtypes: list[str]) -> None:
        self.dtypes = [DTYPES[name] for name in dtypes]

    def object(self, numbers: Sequence[Any]) -> Any:
        """The object for the caller."""
        out = tuple(python_number(n, d) for n, d in zip(numbers, self.dtypes, strict=True))
        return out[0] if len(out) == 1 else out


def _simulated() -> bool:
    return run_target("").kind == "sim"


def _request(header: dict[str, Any], where: Any) -> Request:
    examples = Examples()
    empty = inspect.Parameter.empty
    parameters: list[inspect.Parameter] = []
    arguments: dict[str, Any] = {}
    for name, data in header["parameters"].items():
        default = None if data["kind"] == "none" else empty
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        )
        arguments[name] = examples.example(data)
    request: Any = object.__new__(Request)
    request.fn = SimpleNamespace(
        symbol=header["name"],
        signature=inspect.Signature(_defaults_last(parameters)),
        static_parameters=frozenset(),
        argument_notes={},
        annotations={},
    )
    request.options, request.target, request.arguments = Options(), where, arguments
    space = AddressSpace.gmem if where.kind == "sim" else None
    request.specs = {n: spec_of(v, None, n, space) for n, v in arguments.items()}
    return request


def _defaults_last(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters; one after an optional one gets a default too, as Python wants."""
    seen = False
    out: list[inspect.Parameter] = []
    for p in parameters:
        seen = seen or p.default is None
        if seen and p.default is not None:
            p = p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        out.append(p)
    return sorted(out, key=lambda p: p.kind)


def _no_other(request: Request) -> Any:
    raise ArgumentError(
        f"{request.fn.symbol}() was exported for other arguments", code="OC2131",
        hint="export it again for these",
    )  # fmt: skip


def find_runtime_libraries(*, enable_tvm_ffi: bool = False) -> list[str]:
    """Libraries that an exported object is linked with.

    Args:
        enable_tvm_ffi: the object is called through TVM-FFI.

    Returns:
        Paths for the linker's command line. Exported code only needs the CUDA driver, which the
        process has loaded; TVM-FFI's library is named where it is installed.
    """
    if not enable_tvm_ffi:
        return []
    found = importlib.util.find_spec("tvm_ffi")
    if found is None or found.origin is None:
        return []
    folder = Path(found.origin).parent / "lib"
    return [str(f) for f in sorted(folder.glob("libtvm_ffi.*")) if f.suffix in (".so", ".dylib")]
