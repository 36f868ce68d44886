# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator: runs host functions and the kernels that they launch.

>>> sim = Simulator()
>>> sim.run_host(module, "host", [Buffer.from_numpy(x).pointer(), x.size])  # doctest: +SKIP
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import numpy as np

from opencute.arch.target import (
    MAX_BLOCK,
    MAX_CLUSTER,
    MAX_GRID,
    MAX_THREADS,
    Target,
    target,
)
from opencute.base.errors import ArgumentError, DeviceError, OpenCuTeError, SimulationError
from opencute.dialects.cute import PtrType
from opencute.dialects.gpu import KERNELS
from opencute.dialects.llvm import LLVMPointerType
from opencute.ir.attributes import DenseI32Attr, IntAttr
from opencute.ir.core import Op
from opencute.ir.types import FloatType, IntegerType, Type, VectorType
from opencute.native.heap import keep_freed_memory
from opencute.sim import semantics
from opencute.sim.asm.expand import expand_asm
from opencute.sim.fused.group import FEWEST
from opencute.sim.hopper.launches.earlier import Earlier
from opencute.sim.inline import inline_calls
from opencute.sim.lanes import Lanes
from opencute.sim.machine import run_program
from opencute.sim.memory import RAW, AddressTable, Buffer, SimPointer
from opencute.sim.numbers.blas import one_thread
from opencute.sim.printf import Format
from opencute.sim.program import Program, compile_function
from opencute.sim.report import RunReport, note
from opencute.sim.sync.checker import Checker
from opencute.sim.sync.group import Group
from opencute.sim.values import dtype_of, wrap
from opencute.sim.watch import Transactions, Watcher

__all__ = ["LaunchHook", "Simulator"]

assert semantics.__all__  # importing it has registered the rules

LaunchHook = Callable[..., None]
"""``(kernel_name, grid, block, cluster, smem, stream, args, attributes)``"""

_CHUNK_BYTES = 1 << 20


class Simulator:
    """Runs IR and checks it.

    Args:
        target: the architecture that is simulated.
        seed: seed of everything that may happen in any order; with 0, whoever is behind runs first.
        check: also look for races, for copies that are not waited for, and for barriers that not
            all threads reach (slower).
        out: where prints go; standard output by default.
        count_transactions: also count sectors and lines of global memory (slower).
    """

    def __init__(
        self,
        target: str = "sm_90a",
        seed: int = 0,
        check: bool = False,
        *,
        out: TextIO | None = None,
        count_transactions: bool = False,
    ) -> None:
        self.target = target
        self.seed = seed
        self.check = check
        self.out = out
        self.count_transactions = count_transactions
        self.report = RunReport()
        self.earlier: dict[Any, Earlier] = {}
        """The last kernel on each stream, if it let the next one start (checking mode)."""
        self._registered: dict[int, Buffer] = {}
        self._programs: dict[tuple[int, bool, bool], tuple[Op, Program]] = {}

    def register(self, buffer: Buffer) -> None:
        """Make an array known by its address, for pointers that are made from integers."""
        self._registered[buffer.base] = buffer

    def unregister(self, buffer: Buffer) -> None:
        """Forget an array; it is no error if it is not known."""
        self._registered.pop(buffer.base, None)

    def run_host(
        self,
        module: Op,
        name: str,
        args: Sequence[Any],
        *,
        launch: LaunchHook | None = None,
    ) -> list[Any]:
        """Run a host function, and the kernels that it launches.

        Args:
            module: the `builtin.module`.
            name: the function's symbol.
            args: a Python number or a `SimPointer` for each argument; an address may stand for a
                pointer.
            launch: called instead of simulating a kernel, e.g. to run it on a device, as
                ``launch(kernel_name, grid, block, cluster, smem, stream, args, attributes)``.

        Returns:
            The results: Python ints and bools, NumPy scalars for floats, arrays for vectors.

        Raises:
            SimulationError: a check failed; the error has the user's line.
            ArgumentError: the arguments do not fit the function.
        """
        function = _find(module, name)
        args = _arguments(function, args)
        self.earlier.clear()  # whoever calls may have waited for the device since the last call
        run = _Run(self, module, launch, args)
        program = self.program(module, function, run.loose)
        with np.errstate(all="ignore"), one_thread():
            (ended,) = run_program(program, run.root, args)
        return [_result(ended.registers[r]) for r in program.returns]

    def run_function(self, module: Op, name: str, args: Sequence[Any]) -> Any:
        """Run a function on scalars; returns its result, or a list of several."""
        out = self.run_host(module, name, args)
        return out[0] if len(out) == 1 else out

    def run_kernel(
        self,
        module: Op,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        *,
        smem: int = 0,
        cluster: Sequence[int] | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        """Run one kernel over a grid, without a host function."""
        kernel = _find_kernel(module, name)
        args = _arguments(kernel, args)
        run = _Run(self, module, None, args)
        with np.errstate(all="ignore"), one_thread():
            where = None if cluster is None else _three(cluster)
            run.launch(
                kernel, name, _three(grid), _three(block), where, smem, None, args,
                attributes or {},
            )  # fmt: skip

    def program(self, module: Op, function: Op, loose: bool, lanes: int = 1) -> Program:
        """The compiled form of a function for so many lanes, kept as long as the simulator."""
        many = lanes >= FEWEST
        key = (id(function), loose, many)
        known = self._programs.get(key)
        if known is None or known[0] is not function:
            inlined = inline_calls(function, lambda name: _find(module, name))
            program = compile_function(expand_asm(inlined), loose_arguments=loose, many=many)
            known = self._programs[key] = (function, program)
        return known[1]


def _three(extent: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*extent, 1, 1)[:3]
    return x, y, z


def _symbols(op: Op) -> Iterable[Op]:
    return op.regions[0].block.ops


def _find(module: Op, name: str) -> Op:
    for op in _symbols(module):
        if op.symbol == name and op.name == "func.func":
            return op
    raise ArgumentError(f"the module has no function {name!r}", code="OC2302")


def _find_kernel(module: Op, name: str) -> Op:
    for op in _symbols(module):
        if op.name == "gpu.module" and op.symbol == KERNELS:
            for inner in _symbols(op):
                if inner.symbol == name:
                    return inner
    raise ArgumentError(f"the module has no kernel {name!r}", code="OC2302")


def _arguments(function: Op, args: Sequence[Any]) -> list[Any]:
    types = [a.type for a in function.regions[0].block.args]
    if len(types) != len(args):
        raise ArgumentError(
            f"{function.symbol} takes {len(types)} arguments, {len(args)} are given",
            code="OC2303",
        )
    with np.errstate(all="ignore"):
        return [_argument(a, t) for a, t in zip(args, types, strict=True)]


def _argument(value: Any, type: Type) -> Any:
    if isinstance(type, PtrType | LLVMPointerType):
        if value is None or isinstance(value, SimPointer):
            return value
        return SimPointer(RAW, int(value))
    if isinstance(type, VectorType):
        return np.ascontiguousarray(np.asarray(value, dtype_of(type))).reshape(1, 1, type.length)
    if isinstance(type, IntegerType) and type.width == 1:
        return bool(value)
    if isinstance(type, FloatType):
        return dtype_of(type).type(value)
    width = type.width if isinstance(type, IntegerType) else 64
    return wrap(int(value), width)


def _result(value: Any) -> Any:
    return np.ascontiguousarray(value).reshape(-1) if type(value) is np.ndarray else value


class _Run:
    """One call of a host function: what its lanes share."""

    def __init__(
        self, sim: Simulator, module: Op, hook: LaunchHook | None, args: Sequence[Any]
    ) -> None:
        self.sim = sim
        self.module = module
        self.hook = hook
        self.report = sim.report
        self.table = AddressTable()
        for buffer in sim._registered.values():  # pyright: ignore[reportPrivateUsage]
            self.table.add(buffer)
        self.loose = False
        for arg in args:
            if isinstance(arg, SimPointer) and arg.buffer is not RAW:
                self.table.add(arg.buffer)
        self.loose = any(b.written is not None for b in self.table.buffers())
        self.lanes = (1, 1)
        self.grid = self.block = self.cluster = (1, 1, 1)
        self.smem = 0
        self.threads = self.blocks = 1
        self.first_block = 0
        self.clock = 0
        self.group = Group(1, 1)
        self.checker: Any = None
        self.host = True
        self.order = np.random.default_rng(sim.seed) if sim.seed else None
        self.turns: Any = None
        rng = random.Random(sim.seed)
        self.pick = (lambda ready: rng.randrange(len(ready))) if sim.seed else None
        self.root = Lanes(self, 1, 1, 0, 0)
        self.watchers: list[Watcher] = []
        self._printed: list[tuple[int, int, int, str]] = []

    # ------------------------------------------------------------------ what semantics use
    def describe(self, block: int, thread: int) -> str:
        """A lane's name."""
        if self.host:
            return "on the host"
        return f"block {_coords(block, self.grid)}, thread {_coords(thread, self.block)}"

    def count(self, verb: str, space: str, accesses: int, width: int, widest: int) -> None:
        """Record accesses of `width` bytes each."""
        report = self.report
        total = accesses * width
        (report.read_bytes if verb == "read" else report.written_bytes)[space] += total
        if verb == "update":
            report.atomics[space] += accesses
        elif verb == "write":
            self.group.version += 1
        wide = min(width, widest)
        report.accesses[verb, space, wide] += total // wide

    def shuffled(self, count: int) -> Any:
        """The order in which lanes take turns, None for their own."""
        return None if self.order is None else self.order.permutation(count)

    def waited(self, lanes: Lanes, op: Op) -> None:
        """Record that lanes have to wait at an operation."""
        self.report.waits += 1
        self.report.waits_by_line[f"{op.loc} ({op.name})"] += 1

    def printed(self, lanes: Lanes, format: Format, values: Sequence[Any]) -> None:
        """Keep the text of each lane until the launch ends; the host prints at once."""
        if self.host:
            scalars = [v.item() if isinstance(v, np.ndarray) else v for v in values]
            self._write(format(scalars))
            return
        order = len(self._printed)
        blocks = lanes.full(lanes.bid).ravel().tolist()
        threads = lanes.full(lanes.tid).ravel().tolist()
        columns = [lanes.full(v).ravel() if type(v) is np.ndarray else v for v in values]
        for i, (block, thread) in enumerate(zip(blocks, threads, strict=True)):
            row = [c[i] if type(c) is np.ndarray else c for c in columns]
            self._printed.append((block, thread, order, format(row)))

    def _write(self, text: str) -> None:
        out = self.sim.out or sys.stdout
        out.write(text)
        out.flush()

    def _flush(self) -> None:
        printed, self._printed = self._printed, []
        if printed:
            printed.sort(key=lambda p: p[:3])
            self._write("".join(p[3] for p in printed))

    # ------------------------------------------------------------------ launches
    def launch(
        self,
        op: Op,
        name: str,
        grid: tuple[Any, ...],
        block: tuple[Any, ...],
        cluster: tuple[Any, ...] | None,
        smem: int,
        stream: Any,
        args: Sequence[Any],
        attributes: dict[str, Any],
    ) -> None:
        """Run a kernel over its grid, or hand it to the hook."""
        if self.hook is not None:
            handle = stream.address() if isinstance(stream, SimPointer) else stream
            self.hook(name, grid, block, cluster, smem, handle, args, attributes)
            return
        kernel = _find_kernel(self.module, name)
        if 0 in grid:
            return  # nothing to do; compiled host code leaves such a launch out too
        _check_launch(op, name, grid, block)
        _check_resources(op, name, grid, cluster, smem, target(self.sim.target))
        if _cooperative(attributes):
            _check_resident(op, name, grid, block, smem, target(self.sim.target))
        lanes = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        program = self.sim.program(self.module, kernel, self.loose, lanes)
        before = (self.grid, self.block, self.lanes, self.host, self.group, self.threads)
        self.grid, self.block = _three(grid), _three(block)
        self.cluster = _cluster(kernel, cluster)
        self.smem = max(smem, _static_smem(kernel))
        self.threads = block[0] * block[1] * block[2]
        self.host = False
        self.report.launches += 1
        self.watchers = []
        if self.sim.count_transactions:
            self.watchers.append(Transactions(self.report))
        handle = stream.address() if isinstance(stream, SimPointer) else stream
        earlier = self.sim.earlier.pop(handle, None) if self.sim.check else None
        may_overlap = attributes.get("cute.use_pdl") is not None
        self.checker = Checker(earlier if may_overlap else None) if self.sim.check else None
        if self.checker is not None:
            self.watchers.append(self.checker)
        try:
            self._blocks(program, args, _cooperative(attributes))
            if self.checker is not None and self.checker.lets_start:
                self.sim.earlier[handle] = Earlier.of(self.checker, name)
        except OpenCuTeError as e:
            note(e.at(kernel.loc))
            raise e from None
        finally:
            self._flush()
            self.grid, self.block, self.lanes, self.host, self.group, self.threads = before
            self.watchers, self.checker = [], None

    def _blocks(self, program: Program, args: Sequence[Any], together: bool) -> None:
        total = self.grid[0] * self.grid[1] * self.grid[2]
        threads = self.threads
        if total * threads >= _LARGE:
            keep_freed_memory()
        batch = self._batch(program, together)
        tid: Any = np.arange(threads)[None] if threads > 1 else 0
        for first in range(0, total, batch):
            count = min(batch, total - first)
            bid: Any = first + np.arange(count)[:, None] if count > 1 else first
            self.first_block, self.blocks = first, count
            self.lanes = (count, threads)
            self.group = Group(count, threads, self.smem)
            self.table.replace(self.group.arena.whole)
            if self.checker is not None:
                self.checker.start(self.group, first)
            self.report.threads += count * threads
            self.report.max_lanes = max(self.report.max_lanes, count * threads)
            run_program(program, Lanes(self, count, threads, tid, bid), args, self.pick)
            if self.checker is not None:
                self.checker.finish()

    def _batch(self, program: Program, together: bool) -> int:
        """Blocks that run together."""
        total = self.grid[0] * self.grid[1] * self.grid[2]
        if together:
            return total
        arch = target(self.sim.target)
        count = max(_lanes_for(program) // self.threads, 1)
        if program.spins:
            # Whoever waits for another block counts on it being there, as far as there is room.
            resident = max(arch.max_threads_per_sm // self.threads, 1)
            count = max(count, min(resident, arch.max_blocks_per_sm) * _PROCESSORS)
        if self.smem:
            count = min(count, max(_ARENA_BYTES // self.smem, 1))
        x, y, z = self.cluster
        # Blocks of a cluster run together; they follow each other only where they lie along x.
        return total if y * z > 1 else max(count // x, 1) * x


_PROCESSORS = 132
_LARGE = 1 << 11  # lanes of a launch whose temporary arrays are worth keeping
_ARENA_BYTES = 1 << 23


def _cooperative(attributes: dict[str, Any]) -> bool:
    value = attributes.get("cute.cooperative")
    return value is not None and bool(getattr(value, "value", True))


def _check_resident(
    op: Op, name: str, grid: Sequence[Any], block: Sequence[Any], smem: int, arch: Target
) -> None:
    """Whether all blocks of a cooperative launch can be on the device at once."""
    threads = -(-block[0] * block[1] * block[2] // 32) * 32
    each = min(arch.max_threads_per_sm // threads, arch.max_blocks_per_sm)
    if smem:
        each = min(each, arch.max_smem // smem)
    most = _PROCESSORS * each
    blocks = grid[0] * grid[1] * grid[2]
    if blocks > most:
        raise DeviceError(
            f"{name}: a cooperative launch of {blocks} blocks does not fit the device",
            code="OC4720", loc=op.loc, expected=f"at most {most} blocks of {threads} threads",
            hint="all blocks have to be resident at once: use a smaller grid",
        )  # fmt: skip


def _static_smem(kernel: Op) -> int:
    size = kernel.attributes.get("cute.smem_bytes")
    return size.value if isinstance(size, IntAttr) else 0


def _cluster(kernel: Op, asked: Sequence[Any] | None) -> tuple[int, int, int]:
    """Blocks of a cluster: what the launch says, or the kernel."""
    own = kernel.attributes.get("cute.cluster_dim")
    if asked is None and isinstance(own, DenseI32Attr):
        asked = own.values
    return _three(asked) if asked is not None else (1, 1, 1)


def _lanes_for(program: Program) -> int:
    """How many lanes to run together: wide vectors fill the cache sooner."""
    return min(max(_CHUNK_BYTES // program.widest, 4096), 65536)


def _coords(linear: int, extent: tuple[int, int, int]) -> tuple[int, int, int]:
    x, rest = linear % extent[0], linear // extent[0]
    return x, rest % extent[1], rest // extent[1]


def _check_launch(op: Op, name: str, grid: Sequence[Any], block: Sequence[Any]) -> None:
    for what, extent, limit in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        for value, most in zip(extent, limit, strict=True):
            if not 1 <= value <= most:
                raise SimulationError(
                    f"{name}: the {what} {tuple(extent)} cannot be launched",
                    code="OC3002", loc=op.loc, expected=f"1 to {limit}", found=tuple(extent),
                )  # fmt: skip
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise SimulationError(
            f"{name}: a block of {threads} threads cannot be launched",
            code="OC3002", loc=op.loc, expected=f"at most {MAX_THREADS} threads", found=threads,
        )  # fmt: skip


def _check_resources(
    op: Op, name: str, grid: Sequence[Any], cluster: Sequence[Any] | None, smem: int, arch: Target
) -> None:
    """What cuLaunchKernelEx refuses: clusters that do not fit the grid, too much shared memory."""
    if cluster is not None:
        blocks = cluster[0] * cluster[1] * cluster[2]
        if not arch.has_clusters and blocks > 1:
            raise SimulationError(
                f"{name}: {arch} has no clusters", code="OC3012", loc=op.loc, found=tuple(cluster)
            )
        fits = all(c >= 1 and g % c == 0 for g, c in zip(grid, cluster, strict=True))
        if not fits or blocks > MAX_CLUSTER:
            raise SimulationError(
                f"{name}: a cluster of {tuple(cluster)} cannot be launched", code="OC3012",
                expected=f"at most {MAX_CLUSTER} blocks, each dimension divides the grid's",
                loc=op.loc, found=f"cluster {tuple(cluster)}, grid {tuple(grid)}",
            )  # fmt: skip
    if not 0 <= smem <= arch.max_smem:
        raise SimulationError(
            f"{name}: {smem} bytes of shared memory per block", code="OC3011", loc=op.loc,
            expected=f"0 to {arch.max_smem} on {arch}", found=smem,
        )  # fmt: skip
