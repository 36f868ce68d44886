# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What `torch.cuda` answers on the simulated device: one sm_90a GPU whose work is always done.

In: the torch module and the parts of a simulated device. Out: a table from names under `torch.cuda`
to their replacements, applied and removed by `torch_sim`. Time in events is the host's clock.

A graph capture executes its body at once (a GPU would only record it) and a replay runs again what
was recorded: torch operations on device tensors, and kernel launches handed to `CUDAGraph.record`.
"""

from __future__ import annotations

import importlib
import itertools
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["CUDAGraph", "DeviceProperties", "Event", "SimulatedDevice", "Stream"]

NAME = "OpenCuTe simulator (sm_90a)"
CAPABILITY = (9, 0)
TOTAL_MEMORY = 80 * 1024**3

_handles = itertools.count(0x7000, 0x10)


class DeviceProperties:
    """The properties that kernel files ask for; the figures of an sm_90a part."""

    name = NAME
    major, minor = CAPABILITY
    total_memory = TOTAL_MEMORY
    multi_processor_count = 132
    warp_size = 32
    max_threads_per_multi_processor = 2048
    max_threads_per_block = 1024
    regs_per_multiprocessor = 65536
    shared_memory_per_block = 49152
    shared_memory_per_block_optin = 232448
    shared_memory_per_multiprocessor = 233472
    L2_cache_size = 50 * 1024**2
    clock_rate = 1_755_000
    memory_clock_rate = 2_619_000
    memory_bus_width = 5120
    is_integrated = 0
    is_multi_gpu_board = 0
    gcnArchName = NAME

    def __repr__(self) -> str:
        return f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor})"


class Event:
    """A point in time; recorded when `record` is called, because work is done by then."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
        external: bool = False,
    ) -> None:  # fmt: skip
        self.enable_timing = enable_timing
        self.cuda_event = next(_handles)
        self.time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.time is None or end_event.time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event.time - self.time) * 1e3

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait(self, stream: Stream | None = None) -> None:
        pass


class Stream:
    """A queue whose work is done when it is put in."""

    def __init__(self, device: Any = None, priority: int = 0, **handle: Any) -> None:
        self.priority = priority
        self.device_index = 0
        self.cuda_stream = int(handle.get("stream_ptr", handle.get("handle", next(_handles))))

    @property
    def device(self) -> Any:
        return importlib.import_module("torch").device("cuda", 0)

    @property
    def stream_id(self) -> int:
        return self.cuda_stream

    def wait_event(self, event: Event) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        pass

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return CUDAGraph.capturing is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self.cuda_stream:#x}>"

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.cuda_stream)


class ExternalStream(Stream):
    """A stream made from a raw handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(stream_ptr=stream_ptr)


class CUDAGraph:
    """A list of things to do again; see the module's text for what a capture means here."""

    capturing: CUDAGraph | None = None

    def __init__(self, keep_graph: bool = False) -> None:
        self.recorded: list[Callable[[], object]] = []

    def record(self, work: Callable[[], object]) -> None:
        """Have `work()` called by each replay."""
        self.recorded.append(work)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        if CUDAGraph.capturing is not None:
            raise RuntimeError("a CUDA graph is already being captured")
        self.recorded.clear()
        CUDAGraph.capturing = self

    def capture_end(self) -> None:
        if CUDAGraph.capturing is not self:
            raise RuntimeError("this CUDA graph is not being captured")
        CUDAGraph.capturing = None

    def instantiate(self) -> None:
        pass

    def replay(self) -> None:
        """Do everything that was recorded again, in order."""
        if CUDAGraph.capturing is not None:
            raise RuntimeError("a graph cannot be replayed while one is being captured")
        for work in self.recorded:
            work()

    def reset(self) -> None:
        self.recorded.clear()

    def pool(self) -> tuple[int, int]:
        return (0, id(self))

    def enable_debug_mode(self) -> None:
        pass

    def debug_dump(self, debug_path: str) -> None:
        pass


class SimulatedDevice:
    """The members of `torch.cuda` that depend on each other.

    Args:
        torch: the torch module.
        random: the device's random state.
        device_of: function from a device argument to a `torch.device` with an index.
    """

    def __init__(self, torch: Any, random: Any, device_of: Callable[[Any], Any]) -> None:
        self.torch = torch
        self.random = random
        self.device_of = device_of
        self.local = threading.local()
        self.default = Stream(stream_ptr=0)

    def current_stream(self, device: Any = None) -> Stream:
        return getattr(self.local, "stream", self.default)

    def set_stream(self, stream: Stream | None) -> None:
        if stream is not None:
            self.local.stream = stream

    @contextmanager
    def stream(self, stream: Stream | None) -> Generator[None, None, None]:
        before = self.current_stream()
        self.set_stream(stream)
        try:
            yield
        finally:
            self.set_stream(before)

    @contextmanager
    def graph(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> Generator[None, None, None]:  # fmt: skip
        with self.stream(stream or Stream()):
            cuda_graph.capture_begin()
            try:
                yield
            finally:
                cuda_graph.capture_end()

    @contextmanager
    def device(self, device: Any = None) -> Generator[None, None, None]:
        self.set_device(device)
        yield

    @contextmanager
    def device_context_of(self, tensor: Any) -> Generator[None, None, None]:
        yield

    def set_device(self, device: Any = None) -> None:
        if device is not None and device != -1:
            self.device_of(device)

    def properties(self, device: Any = None) -> DeviceProperties:
        self.set_device(device)
        return DeviceProperties()

    def name(self, device: Any = None) -> str:
        return self.properties(device).name

    def capability(self, device: Any = None) -> tuple[int, int]:
        self.set_device(device)
        return CAPABILITY

    def graphed(self, callables: Any, *args: Any, **kwargs: Any) -> Any:
        """Callables need no graph to be right."""
        return callables

    def stats(self, device: Any = None) -> dict[str, Any]:
        return {}

    def set_rng_states(self, states: Any) -> None:
        self.set_rng_state(states[0])

    def get_rng_state(self, device: Any = "cuda") -> Any:
        return self.random.generator.get_state()

    def set_rng_state(self, new_state: Any, device: Any = "cuda") -> None:
        self.random.generator.set_state(new_state)

    def seed(self) -> None:
        self.random.generator.seed()

    def no_op(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: all work is done."""

    def zero(self, *args: Any, **kwargs: Any) -> int:
        """Memory is not counted."""
        return 0

    def members(self) -> dict[str, object]:
        """Names under `torch.cuda` and what they become."""

        def always(value: object) -> Callable[..., object]:
            return lambda *_, **__: value

        free = (TOTAL_MEMORY, TOTAL_MEMORY)
        seed = self.random.manual_seed
        table: dict[str, object] = {
            "is_available": always(True), "is_initialized": always(True),
            "device_count": always(1), "current_device": always(0),
            "is_bf16_supported": always(True), "is_tf32_supported": always(True),
            "get_arch_list": lambda: ["sm_90a"], "can_device_access_peer": always(False),
            "get_device_name": self.name,
            "get_device_capability": self.capability,
            "get_device_properties": self.properties, "set_device": self.set_device,
            "device": self.device, "device_of": self.device_context_of,
            "Stream": Stream, "ExternalStream": ExternalStream, "Event": Event,
            "current_stream": self.current_stream, "default_stream": always(self.default),
            "stream": self.stream, "StreamContext": self.stream, "set_stream": self.set_stream,
            "CUDAGraph": CUDAGraph, "graph": self.graph,
            "graph_pool_handle": lambda: (0, next(_handles)),
            "make_graphed_callables": self.graphed,
            "is_current_stream_capturing": lambda: CUDAGraph.capturing is not None,
            "manual_seed": seed, "manual_seed_all": seed, "seed": self.seed, "seed_all": self.seed,
            "initial_seed": self.random.generator.initial_seed,
            "get_rng_state": self.get_rng_state, "set_rng_state": self.set_rng_state,
            "get_rng_state_all": lambda: [self.get_rng_state()],
            "set_rng_state_all": self.set_rng_states,
            "mem_get_info": always(free), "memory_stats": self.stats,
            "current_blas_handle": always(0),
        }  # fmt: skip
        for name in ("synchronize", "init", "_lazy_init", "empty_cache", "ipc_collect", "_sleep"):
            table[name] = self.no_op
        for name in ("memory_allocated", "memory_reserved"):
            table[name] = table[f"max_{name}"] = self.zero
        for name in ("reset_peak_memory_stats", "reset_max_memory_allocated"):
            table[name] = self.no_op
        return table

    def nvtx_members(self) -> dict[str, object]:
        """Names under `torch.cuda.nvtx`."""
        return {"range_push": self.zero, "range_pop": self.zero, "mark": self.no_op,
                "range_start": self.zero, "range_end": self.no_op}  # fmt: skip

    def accelerator_members(self) -> dict[str, object]:
        """Names under `torch.accelerator`."""
        return {
            "is_available": lambda: True, "device_count": lambda: 1,
            "current_accelerator": lambda check_available=False: self.torch.device("cuda"),
            "current_device_index": lambda: 0, "current_device_idx": lambda: 0,
            "set_device_index": self.set_device, "synchronize": self.no_op,
            "current_stream": self.current_stream, "set_stream": self.set_stream,
        }  # fmt: skip
