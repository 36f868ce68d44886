# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a host function with proxy values: what becomes the module.

The host function's body goes into a `func.func`; each kernel that it launches is traced into a
`gpu.func` when `launch` is called, with the arguments' SSA leaves as parameters.
"""

# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import contextlib
import ctypes
import dis
import inspect
import math
import re
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencute.arch.target import (
    MAX_BLOCK,
    MAX_BLOCKS_PER_SM,
    MAX_CLUSTER,
    MAX_THREADS,
    target,
)
from opencute.base.errors import ArgumentError, LanguageError, TypeMismatchError
from opencute.base.location import Location
from opencute.base.log import warn
from opencute.dialects import arith, builtin, func, gpu, llvm
from opencute.dialects.hopper.launch import launch_event
from opencute.frontend.arguments.returns import Returned
from opencute.frontend.carried import NoJoin, Plan, plan_for
from opencute.frontend.escapes import check_escapes
from opencute.frontend.locations import (
    forget_frames,
    here,
    place_error,
    traced,
    without_end,
)
from opencute.frontend.misuse import bound as bound_arguments
from opencute.frontend.state.classes import forget as forget_classes
from opencute.frontend.state.leads import forget as forget_leads
from opencute.frontend.state.links import check, clear
from opencute.ir.attributes import UNIT, Attribute, DenseI32Attr, IntAttr, TypeAttr
from opencute.ir.builder import insert_at, locating
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import I64, FunctionType, Type
from opencute.lang.block.smem_plan import SmemPlan, planning
from opencute.lang.numbers import Int32, Int64, Numeric
from opencute.lang.streams import Event, Stream
from opencute.lang.tiled.atoms import MmaAtom
from opencute.layout.ints import is_sequence

__all__ = ["TRACING", "KernelCall", "Trace", "calls_in_python", "current_trace", "trace_host"]


@dataclass
class Trace:
    """The state of one tracing run."""

    module: Op
    host: Block
    device: Block
    target: str
    names: dict[str, int] = field(default_factory=dict)
    pending: list[KernelCall] = field(default_factory=list)
    in_kernel: bool = False
    functions: dict[int, Any] = field(default_factory=dict)
    """Decorated functions that ran, by identity: what the code depends on."""

    def kernel_name(self, name: str) -> str:
        """A symbol for the next kernel of a name; kernels keep a numeric suffix."""
        clean = re.sub(r"\W", "_", name)
        number = self.names[clean] = self.names.get(clean, -1) + 1
        return f"{clean}_{number}"


class _State(threading.local):
    trace: Trace | None = None


_STATE = _State()

TRACING = ctypes.c_int64(0)
"""How many traces run in all threads; a C integer, because native code asks."""
_tracing_lock = threading.Lock()


def _count_traces(change: int) -> None:
    with _tracing_lock:
        TRACING.value += change


@contextlib.contextmanager
def calls_in_python() -> Generator[None, None, None]:
    """A block in which calls of jit functions go through Python, in all threads."""
    _count_traces(1)
    try:
        yield
    finally:
        _count_traces(-1)


def current_trace() -> Trace | None:
    """The tracing run of this thread, None outside of one."""
    return _STATE.trace


def trace_host(
    fn: Callable[..., Any],
    name: str,
    arg_types: Sequence[Type],
    build_args: Callable[[list[Value]], tuple[tuple[Any, ...], dict[str, Any]]],
    target: str,
    functions: dict[int, Any] | None = None,
) -> tuple[Op, Returned]:
    """Trace a host function.

    Args:
        fn: the rewritten function.
        name: symbol of the host function.
        arg_types: types of its SSA parameters.
        build_args: makes the arguments of `fn` from the parameters.
        target: the architecture that the kernels are for.
        functions: where the decorated functions that run are noted, by identity.

    Returns:
        The module, and what the function gives back to Python.

    Raises:
        LanguageError: among others, a kernel was called and never launched.
    """
    module, body = builtin.module()
    with insert_at(body), locating(here):
        host_op, host = func.func(re.sub(r"\W", "_", name), arg_types)
        _, device = gpu.gpu_module()
    trace = Trace(module, host, device, target)
    if functions is not None:
        trace.functions = functions
    _refuse_generator(fn)
    before, _STATE.trace = _STATE.trace, trace
    _count_traces(1)
    try:
        clear()
        with insert_at(host), locating(here):
            args, kwargs = build_args(list(host.args))
            returned = _returned(traced(fn, *args, **kwargs), fn, name)
            check()
            func.return_(returned.values)
            types = FunctionType(tuple(arg_types), tuple(v.type for v in returned.values))
            host_op.attributes["function_type"] = TypeAttr(types)
        check_escapes(module)
        if trace.pending:
            call = trace.pending[0]
            raise LanguageError(
                f"kernel {call.name!r} is called but never launched", code="OC1130", loc=call.loc,
                hint="write kernel(...).launch(grid=..., block=...)",
            )  # fmt: skip
    except RecursionError as e:
        raise without_end(e) from None
    except BaseException as e:
        placed = place_error(e)
        if placed is not e:
            raise placed from None
        raise
    finally:
        _count_traces(-1)
        _STATE.trace = before
        forget_frames()
        forget_leads()
        forget_classes()
    returned.forget_values()
    return module, returned


def _refuse_generator(fn: Callable[..., Any]) -> None:
    """A decorated generator can be called while tracing (as of a context manager), not compiled."""
    if inspect.isgeneratorfunction(fn):
        code = fn.__code__
        at = next(i for i in dis.get_instructions(code) if "YIELD" in i.opname)
        line = at.positions.lineno if sys.version_info >= (3, 11) and at.positions else None
        raise LanguageError(
            "a kernel or host function cannot be a generator", code="OC1122",
            loc=Location(code.co_filename, line or code.co_firstlineno, function=code.co_name),
        )  # fmt: skip


def _returned(result: Any, fn: Callable[..., Any], name: str) -> Returned:
    try:
        return Returned(result)
    except LanguageError as e:
        code = fn.__code__
        e.at(Location(code.co_filename, code.co_firstlineno, function=name))
        raise


class KernelCall:
    """`kernel(args)`: waits for `.launch`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        trace: Trace,
    ) -> None:
        self.fn = fn
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.trace = trace
        self.loc: Location | None = here()
        trace.pending.append(self)

    def launch(
        self,
        *,
        grid: Any = (1, 1, 1),
        block: Any = (1, 1, 1),
        cluster: Any = None,
        fallback_cluster: Any = None,
        smem: Any = None,
        stream: Any = None,
        max_number_threads: Any = None,
        min_blocks_per_mp: int = 0,
        use_pdl: Any = False,
        cooperative: bool = False,
        smem_merge_branch_allocs: bool = False,
        preferred_smem_carveout: int | None = None,
        hint_smem_base_uniform: bool = False,
        opt_level: int | None = None,
        launch_completion_event: Any = None,
        launch_completion_event_flags: int = 0,
        programmatic_event: Any = None,
        programmatic_event_flags: int = 0,
        programmatic_event_trigger_at_block_start: Any = 0,
        loc: Any = None,
        ip: Any = None,
    ) -> None:
        """Trace the kernel and launch it.

        Args:
            grid: blocks in x, y, z; up to three integers, missing ones are 1. With a 0 among them
                nothing is launched, and that is no error: an empty problem needs no test, as in
                ``grid=cute.ceil_div(cute.size(x), 128)``.
            block: threads per block in x, y, z; at least 1.
            cluster: blocks per cluster in x, y, z (sm_90 and newer).
            smem: bytes of dynamic shared memory; None: what the kernel's allocator used.
            stream: the stream; None: the current stream of the framework that the tensors are from.
            max_number_threads: bound on the block size, when `block` is not a compile-time value.
            min_blocks_per_mp: blocks that must fit on a multiprocessor together.
            use_pdl: programmatic dependent launch.
            cooperative: cooperative launch.
            smem_merge_branch_allocs: branches of a run-time `if` allocate the same shared memory.
            preferred_smem_carveout: percent of the L1 that is to be shared memory.
            opt_level: level of ptxas, 0 to 3, for which the kernel is written: 1 is for one whose
                order of instructions is to stay. The lowest of a module's kernels counts, unless
                the options of the compilation have a level below 3.
            launch_completion_event: an event that fires when all blocks have started.
            launch_completion_event_flags: its flags.
            programmatic_event: an event that fires when all blocks have called
                `griddepcontrol_launch_dependents` or ended.
            programmatic_event_flags: its flags.
            programmatic_event_trigger_at_block_start: whether it fires when they start instead.
            fallback_cluster: accepted; launches take `cluster`.
            hint_smem_base_uniform: accepted; without effect.

        Raises:
            TypeMismatchError: a dimension is no integer.
            ArgumentError: the launch cannot work, or the kernel needs too much shared memory.
        """
        if self in self.trace.pending:
            self.trace.pending.remove(self)
        attrs: dict[str, Attribute] = {}
        for key, on in (("use_pdl", use_pdl), ("cooperative", cooperative)):
            if bool(on):
                attrs[f"cute.{key}"] = UNIT
        if preferred_smem_carveout is not None:
            if not -1 <= int(preferred_smem_carveout) <= 100:
                raise ArgumentError(
                    "preferred_smem_carveout is a percentage, or -1 for the driver's choice",
                    code="OC2124", expected="-1 to 100", found=preferred_smem_carveout,
                )  # fmt: skip
            attrs["cute.carveout"] = IntAttr(int(preferred_smem_carveout), I64)
        dims = _dims("grid", grid), _dims("block", block)
        bounds = _bounds(dims[1], max_number_threads, min_blocks_per_mp)
        if opt_level is not None:
            if opt_level not in range(4):
                raise ArgumentError(
                    "ptxas has no such level", code="OC2139", expected="0 to 3", found=opt_level
                )
            bounds["cute.opt_level"] = IntAttr(int(opt_level), I64)
        clusters = None if cluster is None else _dims("cluster", cluster)
        if (
            clusters
            and all(isinstance(c, int) for c in clusters)
            and math.prod(clusters) > MAX_CLUSTER
        ):
            raise ArgumentError(
                "a cluster is too large", code="OC2125", expected=f"at most {MAX_CLUSTER} blocks",
                found=tuple(clusters),
            )  # fmt: skip
        limit = target(self.trace.target).max_smem
        with planning(limit, self.trace.target, merge_branches=smem_merge_branch_allocs) as plan:
            symbol, values = self._trace_kernel(bounds, clusters, plan)
        dynamic = self._smem(smem, plan)
        if isinstance(dynamic, Numeric):
            attrs["cute.smem_limit"] = IntAttr(limit, I64)
        _event("completion", launch_completion_event, launch_completion_event_flags)
        _event(
            "programmatic", programmatic_event, programmatic_event_flags,
            at_start=bool(programmatic_event_trigger_at_block_start),
        )  # fmt: skip
        gpu.launch_func(
            symbol,
            [_extent("grid", d) for d in dims[0]],
            [_extent("block", d) for d in dims[1]],
            values,
            cluster=[_extent("cluster", d) for d in clusters] if clusters else (),
            smem=_amount(dynamic),
            stream=_stream(stream),
            attributes=attrs,
        )

    def _smem(self, asked: Any, plan: SmemPlan) -> Any:
        """Dynamic shared memory of the launch: what is asked for, or what the allocators use if
        that is more; None if neither is."""
        if asked is None:
            return plan.used or None
        if isinstance(asked, Numeric) and asked.is_dynamic:
            # A number of another width is cut to 32 bits only once it is known to be small.
            wide = asked.to(Int64)
            return Int64(arith.binary("maxsi", wide.ir_value(), Int64(plan.used).ir_value()))
        size = _bytes(asked)
        if not 0 <= size <= plan.limit:
            raise ArgumentError(
                f"kernel {self.name!r} asks for more shared memory than a block may have on "
                f"{plan.where}" if size > 0 else f"kernel {self.name!r} asks for negative memory",
                code="OC2129", expected=f"at most {plan.limit} bytes", found=f"{size} bytes",
                hint="fewer pipeline stages or a smaller tile",
            )  # fmt: skip
        if size < plan.used:
            warn(
                f"kernel {self.name!r} is launched with smem={size}, but its allocators use "
                f"{plan.used} bytes of shared memory: it gets those",
                RuntimeWarning,
            )
        return max(size, plan.used)

    def _trace_kernel(
        self, bounds: dict[str, Attribute], clusters: list[Any] | None, memory: SmemPlan
    ) -> tuple[str, list[Value]]:
        _refuse_generator(self.fn)
        bound = bound_arguments(self.name, inspect.signature(self.fn), self.args, self.kwargs)
        bound.apply_defaults()
        plans: dict[str, Plan] = {}
        values: list[Value] = []
        for key, value in bound.arguments.items():
            try:
                plan = plans[key] = plan_for(value)
            except NoJoin as e:
                raise TypeMismatchError(
                    f"argument {key!r} cannot be passed to a kernel", found=e.found
                ) from None
            values += plan.values(value)
        symbol = self.trace.kernel_name(self.name)
        if clusters and all(isinstance(c, int) for c in clusters):
            bounds["cute.cluster_dim"] = DenseI32Attr(tuple(clusters))
        with insert_at(self.trace.device):
            kernel, block = gpu.gpu_func(symbol, [v.type for v in values], bounds)
        before, self.trace.in_kernel = self.trace.in_kernel, True
        try:
            with insert_at(block):
                it = iter(block.args)
                for key, plan in plans.items():
                    value = plan.rebuild(it)
                    # What a kernel sets in an MMA is no business of whoever launches it.
                    own = value.fresh() if isinstance(value, MmaAtom) else value
                    bound.arguments[key] = own
                result = self.fn(*bound.args, **bound.kwargs)
                gpu.return_()
        finally:
            self.trace.in_kernel = before
        if memory.used:
            kernel.attributes["cute.smem_bytes"] = IntAttr(memory.used, I64)
        if result is not None:
            raise LanguageError(
                f"kernel {self.name!r} returns a value", code="OC1132", loc=self.loc,
                hint="a kernel writes its results to tensors",
            )  # fmt: skip
        return symbol, values


def _bytes(asked: Any) -> int:
    if isinstance(asked, float) or not (hasattr(asked, "__index__") or isinstance(asked, Numeric)):
        raise TypeMismatchError(
            "smem is a number of bytes, an integer", code="OC1254",
            found=f"{asked!r:.60}",
            hint="leave it out: a launch gets what the kernel's allocators use",
        )  # fmt: skip
    return int(asked)


def _amount(smem: Any) -> Value | None:
    if smem is None:
        return None
    return smem.ir_value() if isinstance(smem, Numeric) else Int32(smem).ir_value()


def _extent(what: str, d: Any) -> Value:
    if isinstance(d, int) and not 0 <= d < 1 << 31:
        raise ArgumentError(f"an extent of the {what} is out of range", code="OC2116",
                            expected="0 to 2^31 - 1", found=d)  # fmt: skip
    return Int32(d).ir_value()


def _dims(what: str, dims: Any) -> list[Any]:
    items = list(dims) if is_sequence(dims) else [dims]
    if len(items) > 3:
        raise ArgumentError(f"{what} has more than three dimensions", code="OC2216", found=items)
    out: list[Any] = []
    for d in items:
        if isinstance(d, Numeric):
            if d.dtype.is_float:
                raise TypeMismatchError(f"{what} is made of integers", code="OC1254", found=d)
            out.append(d if d.is_dynamic else int(d))
        elif isinstance(d, int) or hasattr(d, "__index__"):
            out.append(int(d))
        else:
            raise TypeMismatchError(
                f"{what} is made of integers", code="OC1254", found=f"{type(d).__name__} {d!r}"
            )
    out += [1] * (3 - len(out))
    for d in out:
        if isinstance(d, int) and (d < 0 or (what != "grid" and d == 0)):
            raise ArgumentError(f"{what} must be positive", code="OC2111", found=tuple(out))
    if what in ("block", "max_number_threads") and all(isinstance(d, int) for d in out):
        threads = out[0] * out[1] * out[2]
        if threads > MAX_THREADS or out[2] > MAX_BLOCK[2]:
            raise ArgumentError(
                f"{what} is too large", code="OC2112", expected="at most 1024 threads, z <= 64",
                found=f"{tuple(out)}: {threads} threads",
            )  # fmt: skip
    return out


def _bounds(block: list[Any], most: Any, min_blocks: int) -> dict[str, Attribute]:
    attrs: dict[str, Attribute] = {}
    if most is not None:
        dims = _dims("max_number_threads", most)
        if not all(isinstance(d, int) for d in dims):
            raise TypeMismatchError("max_number_threads is a compile-time value", code="OC1254")
        if all(isinstance(b, int) for b in block) and math.prod(block) > math.prod(dims):
            raise ArgumentError(
                "the block is larger than max_number_threads", code="OC2112",
                expected=f"at most {math.prod(dims)} threads", found=tuple(block),
            )  # fmt: skip
        attrs["cute.maxntid"] = DenseI32Attr(tuple(int(d) for d in dims))
    elif all(isinstance(d, int) for d in block):
        attrs["cute.reqntid"] = DenseI32Attr(tuple(block))
    if min_blocks:
        if not 1 <= int(min_blocks) <= MAX_BLOCKS_PER_SM:
            raise ArgumentError(
                "min_blocks_per_mp is not possible", code="OC2123",
                expected=f"1 to {MAX_BLOCKS_PER_SM}", found=min_blocks,
            )  # fmt: skip
        attrs["cute.minctasm"] = IntAttr(int(min_blocks), I64)
    return attrs


def _event(kind: str, event: Any, flags: Any, *, at_start: bool = False) -> None:
    """Let the next launch fire an event, if there is one."""
    if event is None:
        return
    if not isinstance(event, Event):
        raise TypeMismatchError(
            "launch: an event must be an argument of the host function", code="OC1255",
            found=type(event).__name__, hint="annotate a parameter as CUevent and pass it on",
        )  # fmt: skip
    launch_event(kind, event.value, int(flags), at_start=at_start)


def _stream(stream: Any) -> Value | None:
    if stream is None:
        return None
    if isinstance(stream, Stream):
        return llvm.inttoptr(stream.value)
    raise TypeMismatchError(
        "launch: stream must be an argument of the host function", code="OC1255",
        found=type(stream).__name__, hint="annotate a parameter as cuda.CUstream and pass it on",
    )  # fmt: skip
