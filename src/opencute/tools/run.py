# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute run`: a script or notebook as `__main__`, in the simulator where there is no GPU.

In: a path and the arguments of the script. Out: whatever it does, and its exit status::

    run_file(Path("elementwise_add.py"), ["--M", "3", "--N", "12"])
"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from opencute.base.counters import COUNTERS
from opencute.base.knobs import KNOBS
from opencute.base.tracebacks import users_only
from opencute.compiler.targets import tell_simulated
from opencute.integrations import environment
from opencute.tools.notebook import NotebookError, run_notebook

__all__ = ["apart", "run_file", "run_module"]


def _main_module(path: Path) -> ModuleType:
    """A fresh `__main__`, as `python file` would make it."""
    module = ModuleType("__main__")
    module.__dict__.update({"__builtins__": __builtins__, "__file__": str(path)})
    sys.modules["__main__"] = module
    return module


def _run_script(path: Path, namespace: dict[str, Any]) -> None:
    code = compile(path.read_bytes(), str(path), "exec")
    exec(code, namespace)


def _status(code: object) -> int:
    """The exit status that Python gives to `sys.exit(code)`."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _guarded(run: Callable[[], object]) -> int:
    try:
        run()
    except SystemExit as stop:
        return _status(stop.code)
    except NotebookError as error:
        print(f"opencute: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        traceback.print_exception(users_only(error))
        return 1
    return 0


def prepare(folder: Path) -> None:
    """Set up this process: our `cutlass`, and the simulated device where there is no GPU.

    Args:
        folder: where imports of the script look first.
    """
    if environment.uses_simulator():
        if not KNOBS.target:
            tell_simulated()
        environment.prepare()
    sys.path[0] = str(folder.resolve())
    environment.own_cutlass_first()


def _is_kernel_file(namespace: dict[str, Any]) -> bool:
    return all(callable(namespace.get(name)) for name in ("kernel_fn", "get_inputs"))


def _call_kernel_fn(namespace: dict[str, Any]) -> None:
    """`kernel_fn(*get_inputs())`, where inputs by name are a dict and a lone one is no sequence."""
    inputs = namespace["get_inputs"]()
    if isinstance(inputs, dict):
        namespace["kernel_fn"](**cast("dict[str, Any]", inputs))
    elif isinstance(inputs, (list, tuple, Iterator)):
        namespace["kernel_fn"](*cast("Iterator[Any]", inputs))
    else:
        namespace["kernel_fn"](inputs)


def _say_how_to_run(path: Path) -> None:
    print(
        f"opencute: {path.name} launched no kernel; it is a kernel file, which defines kernel_fn "
        f"and get_inputs for others to call. 'opencute verify {path}' runs it and compares, "
        f"'opencute check {path}' looks for races and missing waits.",
        file=sys.stderr,
    )


def run_file(path: Path, arguments: list[str], *, call_kernel_fn: bool = False) -> int:
    """Run a script or notebook.

    Args:
        path: a Python file, or a notebook when its name ends in `.ipynb`.
        arguments: what the script finds in `sys.argv[1:]`.
        call_kernel_fn: whether to call ``kernel_fn(*get_inputs())`` of a kernel file that launches
            nothing by itself; otherwise such a file is told how it is run.

    Returns:
        The exit status.
    """
    prepare(path.parent)
    sys.argv = [str(path), *arguments]
    module = _main_module(path)
    runner = run_notebook if path.suffix == ".ipynb" else _run_script
    before = COUNTERS.launches
    status = _guarded(lambda: runner(path, module.__dict__))
    if status or COUNTERS.launches != before or not _is_kernel_file(module.__dict__):
        return status
    if call_kernel_fn:
        return _guarded(lambda: _call_kernel_fn(module.__dict__))
    _say_how_to_run(path)
    return status


@contextmanager
def apart() -> Generator[None, None, None]:
    """Give this process its own `__main__`, path, arguments and devices back after a script has
    run."""
    kept = sys.modules["__main__"], list(sys.path), sys.argv
    try:
        with environment.put_back():
            yield
    finally:
        sys.modules["__main__"], sys.path[:], sys.argv = kept


def run_module(name: str, arguments: list[str]) -> int:
    """Run a module as ``python -m`` does, such as ``pytest`` on a file of tests.

    Args:
        name: the module.
        arguments: what it finds in `sys.argv[1:]`.

    Returns:
        The exit status.
    """
    prepare(Path())
    sys.argv = [name, *arguments]
    return _guarded(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))
