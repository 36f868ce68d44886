# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What `cute.compile` returns."""

from __future__ import annotations

import contextlib
import functools
import io
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from opencute.base.errors import ArgumentError
from opencute.base.suggest import did_you_mean
from opencute.base.tracebacks import hidden
from opencute.frontend.arguments.declared import OTHER_LAYOUT, OTHER_RANK, OTHER_TYPE
from opencute.frontend.arguments.kinds import TensorSpec
from opencute.frontend.locations import place_error
from opencute.frontend.misuse import bound as bound_arguments
from opencute.jit.entry.versions import describe
from opencute.jit.fastcall import FIXED, FastCall
from opencute.jit.runners import ReturningRunner
from opencute.lang.external import ExternalTensor, make_native

if TYPE_CHECKING:
    from opencute.jit.cuda_runner import PreparedCall
    from opencute.jit.request import Request
    from opencute.jit.runners import Runner

__all__ = ["Executor", "fast_executor"]


_MAX_PREPARED = 64


class _Prepared:
    """A call that was made before, recognised by the identity of its arguments.

    Tensors are held weakly, and the call is forgotten with the first of them that goes, so that
    remembering keeps no memory alive.
    """

    __slots__ = ("refs", "run", "versions")

    def __init__(
        self, args: tuple[Any, ...], run: Callable[[], None], forget: Callable[[Any], None]
    ) -> None:
        self.run = run
        self.refs = [
            weakref.ref(a, forget) if isinstance(a, ExternalTensor) else _Strong(a) for a in args
        ]
        self.versions = [getattr(a, "version", 0) for a in args]

    def same(self, args: tuple[Any, ...]) -> bool:
        """Whether these are the very arguments, with their marks unchanged."""
        for ref, version, arg in zip(self.refs, self.versions, args, strict=False):
            if ref() is not arg or getattr(arg, "version", 0) != version:
                return False
        return True


def _forget(calls: dict[tuple[int, ...], _Prepared], key: tuple[int, ...], _: object) -> None:
    calls.pop(key, None)


class _Strong:
    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __call__(self) -> Any:
        return self.obj


class Executor:
    """A compiled function.

    Call it with the arguments of the function, with or without its Constexpr ones. A tensor for
    which the facts of the example do not hold (another alignment, a stride that 16 bytes do not
    divide) is served by another version, compiled at its first use.

    Args:
        request: what it was compiled for.
        runner: the code.
        compile_: makes the code of other versions.
        pickled: gives what pickle keeps.

    Attributes:
        ``__mlir__``, ``__ptx__``, ``__cubin__``, ``__sass__``: the stages as text or bytes.
    """

    def __init__(
        self,
        request: Request,
        runner: Runner,
        compile_: Callable[[Request], Runner],
        pickled: Callable[[Executor], tuple[Any, ...]],
    ) -> None:
        self._request = request
        self._compile = compile_
        self._pickled = pickled
        self._versions: dict[Any, Runner] = {request.key: runner}
        self._prepared: dict[tuple[int, ...], _Prepared] = {}
        self.fast: Any = None
        self._learnt: set[Any] = set()
        self._first = runner
        signature = request.fn.signature
        self._runtime = list(request.positions)
        self._all = [n for n in signature.parameters if n != "self"]
        self._open_ended = any(
            p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            known = self._prepared.get(tuple(map(id, args)))
            if known is not None and known.same(args):
                known.run()
                return None
        try:
            request = self._bind(args, kwargs)
            runner = self._versions.get(request.key)
            if runner is None:
                runner = self._other_version(request)
            run = runner.prepare(request.values(request.arguments))
            given = self._by_position(args, kwargs, request)
            if given is not None and runner.reusable and getattr(run, "reusable", True):
                args = given
                self._remember(args, run)
                if self.fast is not None:
                    self._learn(args, request, run)
                run()
                return None
            result = run()
            return result if isinstance(runner, ReturningRunner) else None
        except Exception as e:
            __tracebackhide__ = hidden()
            raise place_error(e)  # noqa: B904 - mostly the same error; frames of ours are cut off

    def _by_position(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], request: Request
    ) -> tuple[Any, ...] | None:
        """All arguments of a call by position, as native code puts them; None if it does not."""
        if not kwargs:
            return args
        names = self._runtime
        if self._open_ended or any(k not in names for k in kwargs):
            return None
        count = max(len(args), 1 + max(names.index(k) for k in kwargs))
        given = {*names[: len(args)], *kwargs}
        if not given.issuperset(names[:count]):
            return None
        return tuple(request.arguments[n] for n in names[:count])

    def _remember(self, args: tuple[Any, ...], run: Callable[[], None]) -> None:
        """Keep a call whose arguments cannot change what they stand for."""
        if all(isinstance(a, FIXED) for a in args):
            for a in args:
                if isinstance(a, ExternalTensor):
                    a.prepared = True
            if len(self._prepared) >= _MAX_PREPARED:
                self._prepared.clear()
            key = tuple(map(id, args))
            forget = functools.partial(_forget, self._prepared, key)
            self._prepared[key] = _Prepared(args, run, forget)
            # One remembered call is enough: programs that rotate arguments use the versions.
            if self.fast is not None and not self.fast.remembers:
                version = cast("PreparedCall", run).native()
                if version is not None:
                    self.fast.remember(args, version)

    def _learn(self, args: tuple[Any, ...], request: Request, run: Any) -> None:
        """Tell native code how this call was made, once for each kind of call."""
        for a in args:
            if type(a) is ExternalTensor:
                make_native(a)
        key = (request.key, *map(type, args))
        if self._open_ended or key in self._learnt:
            return
        self._learnt.add(key)
        names = self._runtime if len(args) <= len(self._runtime) else self._all
        arguments = describe(request.specs, request.arguments, names[: len(args)])
        version = run.native(arguments) if arguments is not None else None
        if version is not None:
            self.fast.learn(version)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
        first = self._request
        if self._open_ended:
            own = [first.arguments["self"]] if "self" in first.arguments else []
            bound = bound_arguments(first.fn.fn.__name__, first.fn.signature, (*own, *args), kwargs)
            bound.apply_defaults()
            return first.like(bound.arguments)
        names = self._runtime
        if len(args) + len(kwargs) > len(names) or any(k not in names for k in kwargs):
            names = self._all
        if len(args) > len(names):
            raise ArgumentError(
                f"{first.fn.symbol}() takes {len(self._runtime)} arguments", code="OC2130",
                expected=", ".join(self._runtime), found=f"{len(args)} arguments",
            )  # fmt: skip
        given = dict(zip(names, args, strict=False)) | kwargs
        for name in given:
            if name not in self._all:
                raise ArgumentError(
                    f"{first.fn.symbol}() has no argument {name!r}", code="OC2130",
                    expected=", ".join(self._runtime),
                    hint=did_you_mean(name, self._runtime) or None,
                )  # fmt: skip
        arguments: dict[str, Any] = {}
        defaults = first.fn.signature.parameters
        for name in first.specs:
            if name in given:
                arguments[name] = given[name]
            elif name not in self._runtime:
                arguments[name] = first.arguments[name]
            elif defaults[name].default is defaults[name].empty:
                raise ArgumentError(
                    f"{first.fn.symbol}() misses argument {name!r}", code="OC2130",
                    expected=", ".join(self._runtime),
                )  # fmt: skip
            else:
                arguments[name] = defaults[name].default
        return first.like(arguments)

    def _other_version(self, request: Request) -> Runner:
        first = self._request
        for name, spec in request.specs.items():
            want = first.specs[name]
            if spec.base != want.base:
                raise ArgumentError(
                    f"argument {name!r} does not fit what {first.fn.symbol}() was compiled for",
                    code="OC2131", expected=_describe(want), found=_describe(spec),
                    hint=_remedy(want, spec),
                )  # fmt: skip
        with contextlib.redirect_stdout(io.StringIO()):  # the trace's prints were shown once
            runner = self._versions[request.key] = self._compile(request)
        return runner

    def __reduce__(self) -> tuple[Any, ...]:
        return self._pickled(self)

    @property
    def open_ended(self) -> bool:
        """Whether the function takes any number of arguments."""
        return self._open_ended

    @property
    def runtime_names(self) -> list[str]:
        """Names of the arguments that calls pass."""
        return self._runtime

    @property
    def request(self) -> Request:
        """What it was compiled for."""
        return self._request

    def export_to_c(
        self,
        file_path: Any = ".",
        file_name: str | None = None,
        function_prefix: str | None = None,
        *,
        function_name: str | None = None,
    ) -> None:
        """Write the function as an object file and a C header.

        Args:
            file_path: a folder; or the object file itself, when `file_name` is left out.
            file_name: the files' name without suffix.
            function_prefix: what the symbols in them begin with; the file's name when omitted.
            function_name: the same, as TVM-FFI's exports call it.

        Raises:
            ArgumentError: the function has arguments that cannot be exported.
        """
        from opencute.jit.export.writing import export

        prefix = function_name or function_prefix
        export(self._request, self.artefacts, file_path, file_name, prefix)

    @property
    def artefacts(self) -> Any:
        """All stages; see `opencute.compiler.artefacts`."""
        return self._first.artefacts

    @property
    def __mlir__(self) -> str:
        """The cute IR, as text."""
        return self.artefacts.cute

    @property
    def __ptx__(self) -> str:
        """The PTX, as text."""
        return self.artefacts.ptx

    @property
    def __cubin__(self) -> bytes:
        """The machine code, as bytes of an ELF file."""
        return self.artefacts.cubin

    @property
    def __sass__(self) -> str:
        """The machine code, disassembled."""
        return self.artefacts.sass

    @property
    def kernel_info(self) -> Any:
        """For each kernel by name: `registers`, `stack`, `spill_stores`, `spill_loads`, `smem`."""
        return self.artefacts.kernel_info

    def __repr__(self) -> str:
        return f"<compiled {self._request.fn.symbol} for {self._request.target}>"


def fast_executor(executor: Executor) -> Executor:
    """The executor with native code in front of `__call__`, for functions that run on a GPU.

    The class of a callable decides what a call does, so each gets a class of its own.
    """
    slow = functools.partial(Executor.__call__, executor)
    names = () if executor.open_ended else executor.runtime_names
    executor.fast = FastCall(slow, names)
    executor.__class__ = type("Executor", (Executor,), {"__call__": executor.fast.function})
    return executor


def _remedy(want: Any, found: Any) -> str:
    """What to change about an argument of another type than what a function was compiled for."""
    if not isinstance(want, TensorSpec) or not isinstance(found, TensorSpec):
        return "pass what the function was compiled for, or compile for this too"
    if want.dtype is not found.dtype:
        return OTHER_TYPE
    if len(want.base[3][0]) != len(found.base[3][0]):
        return OTHER_RANK
    return OTHER_LAYOUT


def _describe(spec: Any) -> str:
    return getattr(spec, "text", None) or str(spec.base)
