# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Many kernels compiled at once, in processes of their own; no GPU is needed for it.

In: functions with example arguments. Out: executors in the same order::

    many = [(gemm, (a, b, c, tile)) for tile in tiles]
    for executor in compile_many(many): ...

This process traces each function, which needs the user's objects; lowering, LLVM and ptxas run in
workers that get the module as text. What is in the disk cache already is not sent, and what comes
back is put there.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

from opencute.base import errors
from opencute.base.errors import ArgumentTypeError, CompileError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.base.location import Location
from opencute.base.tracebacks import hidden
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.cached import cache_key, unpack
from opencute.compiler.options import parse_options
from opencute.frontend.locations import place_error
from opencute.ir.printer import print_op
from opencute.jit.calls import adopt, artefacts_of, executor_for, resolve
from opencute.jit.decorated import HostFunction
from opencute.jit.executor import Executor
from opencute.jit.request import Request
from opencute.jit.worker import read, write
from opencute.runtime.cache import default_cache

__all__ = ["Worker", "blobs_of", "compile_many", "message"]

_START = "import sys; sys.path[:] = {path!r}; from opencute.jit.worker import main; main()"


class Worker(Protocol):
    """Where modules are compiled; each is used by one thread."""

    def compile(self, artefacts: Artefacts) -> dict[str, bytes]:
        """The packed machine code of a module; raises what the compiler says about it."""
        ...

    def close(self) -> None:
        """No more modules will come."""
        ...


def message(artefacts: Artefacts) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a worker is sent: `opencute.jit.worker.answer` takes it."""
    header = {
        "name": artefacts.name, "arch": artefacts.target.name,
        "options": {k: v for k, v in vars(artefacts.options).items() if "keep" not in k},
    }  # fmt: skip
    return header, {"module": print_op(artefacts.module, locations=True).encode()}


def blobs_of(answer: tuple[dict[str, Any], dict[str, bytes]]) -> dict[str, bytes]:
    """What a worker has answered; raises what it could not compile."""
    header, blobs = answer
    if not header["ok"]:
        raise _error(header)
    return blobs


class _Process:
    """One process; started when it gets its first module."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def compile(self, artefacts: Artefacts) -> dict[str, bytes]:
        """Have a module compiled.

        Raises:
            OpenCuTeError: what the compiler says about it.
            CompileError: OC1051, the process has ended.
        """
        if self.process is None:
            command = [
                sys.executable,
                "-c",
                _START.format(path=[p or os.getcwd() for p in sys.path]),
            ]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        source, target = self.process.stdout, self.process.stdin
        assert source is not None and target is not None
        try:
            write(target, *message(artefacts))
            answer = read(source)
        except (OSError, EOFError):
            answer = None
        if answer is None:
            status = self.process.wait()
            source.close()
            with contextlib.suppress(OSError):  # it may have something that nobody reads
                target.close()
            self.process = None
            raise CompileError(
                f"the process that compiled {artefacts.name} has ended", code="OC1051",
                found=f"exit status {status}",
            )  # fmt: skip
        return blobs_of(answer)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


def _error(header: dict[str, Any]) -> Exception:
    kind: Any = getattr(errors, header["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, OpenCuTeError)):
        return CompileError(f"{header['kind']}: {header['message']}", code="OC1052")
    parts = {k: header[k] for k in ("code", "expected", "found", "hint")}
    return kind(header["message"], loc=_location(header["loc"]), **parts)


def _location(facts: dict[str, Any] | None) -> Location | None:
    if facts is None:
        return None
    parts: dict[str, Any] = {**facts, "caller": _location(facts["caller"])}
    return Location(**parts)


class _Item:
    """One function to compile, and how far it has come."""

    def __init__(self, index: int, request: Request) -> None:
        self.index = index
        self.request = request
        self.module = request.trace()
        self.artefacts = artefacts_of(self.module, request)
        self.error: Exception | None = None

    def key(self) -> str | None:
        """Its key in the disk cache, None where that is not used."""
        usable = KNOBS.cache_enabled and not self.artefacts.replaced
        return (
            cache_key(self.module, self.artefacts.target, self.request.options) if usable else None
        )

    def take(self, blobs: dict[str, bytes]) -> None:
        self.artefacts.take_device_code(unpack(blobs))


def compile_many(
    items: Iterable[tuple[Any, ...]],
    *,
    processes: int | None = None,
    options: str = "",
    progress: Callable[[int, int], None] | bool = False,
    return_errors: bool = False,
    worker: Callable[[], Worker] | None = None,
) -> list[Any]:
    """Compile several functions, or one for several arguments, in parallel.

    Args:
        items: ``(fn, args)`` or ``(fn, args, kwargs)`` each, as `cute.compile` would get them.
        processes: how many workers; one for each processor when omitted.
        options: an option string for all of them.
        progress: called with how many are done and how many there are; True prints a line.
        return_errors: give the error in the place of an executor, instead of raising the first.
        worker: makes a worker for each of `processes` threads; a process when omitted.

    Returns:
        Executors in the order of the items.

    Raises:
        CompileError: and others that `cute.compile` raises; a note says for which item.
    """
    tell = _print_progress if progress is True else progress or (lambda done, total: None)
    made: list[_Item | Exception] = []
    chosen = parse_options(options)
    for index, item in enumerate(_listed(items)):
        fn: Any = item[0] if isinstance(item, tuple) and item else item
        try:
            fn, args, kwargs = _parts(item)
            made.append(_Item(index, Request(fn, args, kwargs, chosen)))
        except Exception as e:
            placed = cast("Exception", place_error(e))
            _note(placed, f"while compiling item {index} of {getattr(fn, 'symbol', fn)}")
            if not return_errors:
                __tracebackhide__ = hidden()
                raise placed  # noqa: B904 - mostly the same error; frames of ours are cut off
            made.append(placed)
    _compile(made, processes or os.cpu_count() or 1, tell, worker or _Process)
    out: list[Any] = []
    for item in made:
        error = item if isinstance(item, Exception) else item.error
        if error is not None:
            if not return_errors:
                raise error
            out.append(error)
        else:
            assert isinstance(item, _Item)
            out.append(_executor(item))
    return out


def _listed(items: Any) -> list[Any]:
    if isinstance(items, Iterable) and not isinstance(items, str | bytes | dict):
        listed: list[Any] = [*items]  # pyright: ignore[reportUnknownVariableType]
        if not (isinstance(items, tuple) and listed and isinstance(listed[0], HostFunction)):
            return listed
        hint = "an item is a tuple itself: write [(fn, (a, b))]"
    else:
        hint = "write [(fn, (a, b)), (fn, (c, d))]"
    raise ArgumentTypeError(
        "compile_many takes a list of (fn, args) or (fn, args, kwargs)", code="OC2197",
        found=type(items).__name__, hint=hint,
    )  # fmt: skip


def _parts(item: Any) -> tuple[HostFunction, tuple[Any, ...], dict[str, Any]]:
    """The function, arguments and keyword arguments of an item."""
    parts: list[Any] = list(item) if isinstance(item, tuple | list) else []  # pyright: ignore
    if not (
        len(parts) in (2, 3)
        and isinstance(parts[1], tuple | list)
        and isinstance((*parts, {})[2], dict)
    ):
        bare = len(parts) == 2 and callable(parts[0])
        raise ArgumentTypeError(
            "an item of compile_many is (fn, args) or (fn, args, kwargs)", code="OC2198",
            expected="a function, a tuple of arguments and perhaps a dict of keyword arguments",
            found=repr(item),
            hint="a single argument needs a tuple too: (fn, (x,))" if bare else None,
        )  # fmt: skip
    fn, args = resolve(parts[0], tuple(parts[1]))
    return fn, args, (*parts, {})[2]


def _executor(item: _Item) -> Executor:
    return executor_for(item.request, adopt(item.request, item.module, item.artefacts))


def _compile(
    made: Sequence[_Item | Exception], processes: int, tell: Callable[[int, int], None],
    make: Callable[[], Worker],
) -> None:  # fmt: skip
    """Give each item its machine code, or its error."""
    waiting: queue.SimpleQueue[list[_Item]] = queue.SimpleQueue()
    groups: dict[str, list[_Item]] = {}  # equal modules are compiled once
    done = sum(isinstance(i, Exception) for i in made)
    lock = threading.Lock()
    for item in made:
        if isinstance(item, _Item):
            groups.setdefault(_identity(item), []).append(item)
    for group in groups.values():
        key = group[0].key()
        found = default_cache().get(key) if key is not None else None
        if found is not None:
            for item in group:
                item.take(found)
            done += len(group)
        else:
            waiting.put(group)
    tell(done, len(made))

    def work() -> None:
        nonlocal done
        worker = make()
        try:
            while True:
                try:
                    group = waiting.get_nowait()
                except queue.Empty:
                    return
                _compile_group(worker, group)
                with lock:
                    done += len(group)
                    tell(done, len(made))
        finally:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(min(processes, waiting.qsize()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _identity(item: _Item) -> str:
    return f"{item.artefacts.target.name} {item.request.options} {item.module}"


def _compile_group(worker: Worker, group: list[_Item]) -> None:
    first = group[0]
    try:
        blobs = worker.compile(first.artefacts)
        key = first.key()
        if key is not None:
            default_cache().put(key, blobs)
        for item in group:
            item.take(blobs)
    except Exception as e:
        _note(e, f"while compiling item {first.index}, {first.artefacts.name}")
        for item in group:
            item.error = e


def _note(error: Exception, text: str) -> None:
    add: Any = getattr(error, "add_note", None)  # Python 3.11
    if add is not None:
        add(text)


def _print_progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    sys.stderr.write(f"\rcompiled {done} of {total}{end}")
    sys.stderr.flush()
