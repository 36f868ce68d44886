# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What runs a compiled function: the simulator here, a GPU in `cuda_runner`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from opencute.base.counters import COUNTERS
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.targets import RunTarget
from opencute.ir.core import Op
from opencute.lang.external import ExternalTensor
from opencute.lang.external_pointers import ExternalPointer
from opencute.lang.pointers import element_bits
from opencute.sim import Buffer, RunReport, Simulator
from opencute.sim.memory import TensorModes
from opencute.sim.report import watch_reach

if TYPE_CHECKING:
    from opencute.jit.host_copies import HostCopies

__all__ = [
    "MemoryMarks",
    "ReturningRunner",
    "Runner",
    "SimRunner",
    "make_runner",
    "simulated",
    "use_memory_marks",
]


class Runner(Protocol):
    """A compiled host function: call it with the run-time values of its parameters."""

    artefacts: Artefacts
    reusable: bool
    """Whether a prepared call holds addresses only, and so may be kept for later."""

    def __call__(self, values: list[Any]) -> Any: ...

    def prepare(self, values: list[Any]) -> Callable[[], Any]:
        """A call with these arguments, to be run any number of times; it gives the numbers that
        the host function returns."""
        ...


def make_runner(artefacts: Artefacts, where: RunTarget) -> Runner:
    """What runs a compiled function on a target."""
    if where.kind == "sim":
        return SimRunner(artefacts)
    # The driver is only loaded where it is used.
    from opencute.jit.cuda_runner import CudaRunner

    return CudaRunner(artefacts)


class Results(Protocol):
    """From the numbers that host code returns to what the caller gets."""

    def object(self, numbers: Sequence[Any], /) -> Any: ...


class ReturningRunner:
    """A compiled host function whose results become an object for the caller.

    Args:
        runner: what runs the code, which other functions may share.
        returned: from its numbers to the object.
    """

    reusable = False

    def __init__(self, runner: Runner, returned: Results) -> None:
        self.runner = runner
        self.artefacts = runner.artefacts
        self.returned = returned

    def __call__(self, values: list[Any]) -> Any:
        return self.prepare(values)()

    def prepare(self, values: list[Any]) -> Callable[[], Any]:
        """A call with these arguments."""
        run = self.runner.prepare(values)
        return lambda: self.returned.object(run())


def _launches(module: Op) -> int:
    return sum(op.name == "gpu.launch_func" for op in module.walk())


class MemoryMarks(Protocol):
    """Who knows which tensors hold nothing yet: the simulated torch device does."""

    def is_cuda(self, tensor: Any) -> bool:
        """Whether a tensor is on the simulated device, whose memory is that of the process."""
        ...

    def written_bytes(self, tensor: Any) -> tuple[int, Any] | None:
        """The address of a tensor's storage, and which of its bytes were written since it came
        from `torch.empty*`, an array of bool that kernels go on writing; None if all are."""
        ...

    def note_written(self, tensor: Any) -> None:
        """A kernel may have written to the bytes."""
        ...

    def memory(self) -> list[tuple[int, int]]:
        """Address and size of memory that kernels may reach by addresses they read."""
        ...


_marks: list[MemoryMarks] = []


def _knows_marks(t: ExternalTensor) -> bool:
    return bool(_marks) and t.array.framework == "torch"


def _on_a_gpu(t: ExternalTensor) -> bool:
    """Whether this process cannot touch a tensor's memory directly."""
    return not t.array.is_cpu and not (_knows_marks(t) and _marks[0].is_cuda(t.owner))


def _asked_for() -> list[tuple[int, int]]:
    return _marks[0].memory() if _marks else []


def use_memory_marks(marks: MemoryMarks | None) -> None:
    """Ask `marks` about the tensors that kernels get; None: all memory counts as written."""
    _marks[:] = [] if marks is None else [marks]


_HOST_ALIGNMENT = 16  # of what C allocates; a pointer that is not so points into an array
_simulators: weakref.WeakSet[Simulator] = weakref.WeakSet()
_ended = RunReport()


def simulated() -> RunReport:
    """What the simulator has counted in this process, over all kernels."""
    total = RunReport()
    for report in [_ended, *(s.report for s in _simulators)]:
        total.add(report)
    return total


class SimRunner:
    """Runs the traced module in the simulator."""

    reusable = False

    def __init__(self, artefacts: Artefacts) -> None:
        self.artefacts = artefacts
        self.module = artefacts.simulated_module
        self.launches = _launches(self.module)
        self.simulator = Simulator(artefacts.target.name, KNOBS.sim_seed)
        _simulators.add(self.simulator)
        # A count outlives the code: who compares two totals sees what ran between them.
        weakref.finalize(self.simulator, _ended.add, self.simulator.report).atexit = False

    def __call__(self, values: list[Any]) -> list[Any]:
        return self.prepare(values)()

    def prepare(self, values: list[Any]) -> Callable[[], list[Any]]:
        """A call with these arguments."""

        def run() -> list[Any]:
            copies = _copies(values)
            args = [self._argument(v, copies) for v in values]
            COUNTERS.launches += self.launches
            self.simulator.seed = KNOBS.sim_seed
            self.simulator.check = KNOBS.sim_check
            self.simulator.count_transactions = KNOBS.sim_profile
            known = [Buffer.from_address(a, n, f"the memory at {a:#x}") for a, n in _asked_for()]
            for buffer in known:
                watch_reach(buffer)
                self.simulator.register(buffer)
            try:
                results = self.simulator.run_host(self.module, self.artefacts.name, args)
            finally:
                for buffer in known:
                    self.simulator.unregister(buffer)
            if copies is not None:
                copies.copy_back()
            for value, arg in zip(values, args, strict=True):
                if isinstance(value, ExternalTensor) and arg.buffer.written is not None:
                    _marks[0].note_written(value.owner)
            return results

        return run

    def _argument(self, value: Any, copies: HostCopies | None) -> Any:
        if isinstance(value, ExternalTensor):
            if copies is not None and _on_a_gpu(value):
                return _buffer(value, copies.address(value))
            return _buffer(value, value.data_ptr)
        if isinstance(value, ExternalPointer):
            return _window(value)
        return value


def _copies(values: list[Any]) -> HostCopies | None:
    """Copies of the tensors that are on a GPU, None if there is none."""
    tensors = [v for v in values if isinstance(v, ExternalTensor) and _on_a_gpu(v)]
    if not tensors:
        return None
    # The driver is only loaded where it is used.
    from opencute.jit.host_copies import HostCopies

    return HostCopies(tensors)


def _buffer(t: ExternalTensor, address: int) -> Any:
    """The memory that a tensor's elements span, as a pointer to its first element."""
    start, size = t.span_bytes()
    buffer = Buffer.from_address(
        address + start, size, f"{t.element_type}{list(t.shape)}", owner=t.array,
        read_only=t.array.read_only,
    )  # fmt: skip
    buffer.written = _written(t, address + start, size)
    # Allocators of GPUs begin at multiples of 256 bytes, which counts of sectors may take for 0.
    buffer.counted = t.data_ptr + start - t.array.allocation
    buffer.tensor = TensorModes(
        tuple(t.shape), tuple(t.stride), element_bits(t.element_type), -start
    )
    watch_reach(buffer)
    return buffer.pointer(-start)


def _written(t: ExternalTensor, address: int, size: int) -> Any:
    """Which bytes of a tensor's memory were written; None if all of them are."""
    known = _marks[0].written_bytes(t.owner) if _knows_marks(t) else None
    if known is None:
        return None
    base, written = known
    part = written[address - base : address - base + size]
    return None if part.size < size or part.all() else part


def _window(p: ExternalPointer) -> Any:
    """What a bare address points to: the memory that the system has mapped from there on.

    Nobody says how long the caller's array is, so that only accesses outside of the mapping are
    found, and never crash the process. An array may lie in several mappings, each of which goes on
    where the one before ends: the system splits them where pages are of different kinds.
    """
    end = None
    writable = False
    for line in _mappings():
        span, rights = line.split()[:2]
        first, last = (int(part, 16) for part in span.split("-"))
        if end is None:
            if first <= p.address < last and rights.startswith("r"):
                end, writable = last, "w" in rights
        elif first == end and rights.startswith("r") and ("w" in rights) == writable:
            end = last
        else:
            break
    if end is None:
        return p.address
    name = f"the memory at {p.address:#x}"
    buffer = Buffer.from_address(p.address, end - p.address, name, owner=p, read_only=not writable)
    buffer.counted = p.address % _HOST_ALIGNMENT  # taken for the begin of an allocation
    watch_reach(buffer)
    return buffer.pointer(0)


def _mappings() -> list[str]:
    """The lines of this process's memory map, none where the system has no such file."""
    try:
        return Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
