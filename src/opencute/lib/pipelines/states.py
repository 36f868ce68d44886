# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where in a ring of buffers a producer or consumer is.

state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 4)
state.index, state.phase, state.count        # 0, 1, 0
state.advance()                              # 1, 1, 1; after the last buffer 0, 0, 4
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from typing import Any

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.lang.numbers import Int32
from opencute.lang.vectors import where
from opencute.lib.pipelines.agents import PipelineUserType

__all__ = ["PipelineState", "make_pipeline_state", "static_stages"]


def static_stages(stages: Any) -> int:
    """A number of buffers.

    Raises:
        ArgumentError: not a positive compile-time int.
    """
    if getattr(stages, "is_dynamic", None) is False:
        stages = int(stages)
    if isinstance(stages, bool) or not isinstance(stages, int) or stages < 1:
        raise ArgumentError(
            "the number of stages is a positive compile-time int", code="OC2187",
            found=repr(stages),
            hint="if it was computed from the capacity of shared memory, the tile is too large",
        )  # fmt: skip
    return stages


class PipelineState:
    """A buffer's index, the parity of the phase to wait for, and how many buffers came before.

    Args:
        stages: buffers of the ring.
        count: how often the state went on.
        index: the buffer.
        phase: the parity, 0 or 1.
    """

    def __init__(self, stages: int, count: Any, index: Any, phase: Any) -> None:
        self._stages = static_stages(stages)
        self._count = Int32(count)
        self._index = _counter(index)
        self._phase = Int32(phase)

    @property
    def stages(self) -> int:
        """Buffers of the ring."""
        return self._stages

    @property
    def count(self) -> Any:
        """How often the state went on since it began, or since `reset_count`."""
        return self._count

    @property
    def index(self) -> Any:
        """The buffer."""
        return self._index

    @property
    def phase(self) -> Any:
        """The parity of the phase of the buffer's barrier, 0 or 1."""
        return self._phase

    def clone(self) -> PipelineState:
        """A state of its own that is where this one is."""
        return PipelineState(self._stages, self._count, self._index, self._phase)

    def reset_count(self) -> None:
        """Count from 0 again; the buffer stays."""
        self._count = Int32(0)

    def advance(self, *, loc: Any = None, ip: Any = None) -> None:
        """Go on to the next buffer."""
        self._count = _counter(self._count + 1)
        following = self._index + 1
        self._go(following, following == self._stages, 0)

    def reverse(self, *, loc: Any = None, ip: Any = None) -> None:
        """Go back to the buffer before."""
        self._count = self._count - 1
        self._go(self._index - 1, self._index == 0, self._stages - 1)

    def _go(self, index: Any, wraps: Any, start: int) -> None:
        """To `index`, or to `start` and the other phase if the ring's end is passed."""
        if self._stages == 1:
            self._phase = self._phase ^ 1
        elif getattr(wraps, "is_dynamic", False):
            self._index = _counter(where(wraps, Int32(start), Int32(index)))
            self._phase = where(wraps, self._phase ^ 1, self._phase)
        elif wraps:
            self._index, self._phase = Int32(start), self._phase ^ 1
        else:
            self._index = _counter(index)

    def __str__(self) -> str:
        return f"PipelineState({self._index} of {self._stages}, phase {self._phase})"


def _counter(n: Any) -> Any:
    """A number that is not negative."""
    n = Int32(n)
    if n.is_dynamic:
        n.nonneg = True
    return n


def make_pipeline_state(
    type: PipelineUserType, stages: int, *, loc: Any = None, ip: Any = None
) -> PipelineState:
    """The state that a producer or consumer begins with.

    Args:
        type: the side. The first phase that a producer waits for counts as complete, as the buffers
            are empty.
        stages: buffers of the ring.

    Raises:
        ArgumentTypeError: no side.
        ArgumentError: no such number of buffers.
    """
    if not isinstance(type, PipelineUserType):
        raise ArgumentTypeError(
            "a state belongs to a side of a pipeline", code="OC2185", found=repr(type),
            expected=", ".join(f"PipelineUserType.{t.name}" for t in PipelineUserType),
        )  # fmt: skip
    return PipelineState(stages, 0, 0, 1 if type is PipelineUserType.Producer else 0)
