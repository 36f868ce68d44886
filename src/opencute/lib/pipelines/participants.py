# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The two sides of a pipeline as objects that keep their state, and handles of buffers.

producer, consumer = pipe.make_participants()
handle = producer.acquire_and_advance()        # handle.index: a free buffer
...
handle.commit()
producer.tail()

handle = consumer.wait_and_advance()           # handle.index: a full buffer
...
handle.release()
"""

from __future__ import annotations

from typing import Any

from opencute.lang.numbers import Int32
from opencute.lang.vectors import where
from opencute.lib.pipelines.states import PipelineState

__all__ = ["PipelineConsumer", "PipelineProducer"]


class _Handle:
    """A buffer that a side holds."""

    def __init__(self, origin: Any, state: PipelineState) -> None:
        self._origin = origin
        self._state = state

    @property
    def index(self) -> Any:
        """The buffer's index."""
        return self._state.index

    @property
    def count(self) -> Any:
        """How many buffers came before it."""
        return self._state.count

    @property
    def stage(self) -> Any:
        """The buffer's index."""
        return self._state.index

    @property
    def phase(self) -> Any:
        """The parity of the phase that was waited for."""
        return self._state.phase

    def clone(self) -> Any:
        """Another handle of the same buffer."""
        return type(self)(self._origin, self._state.clone())


class _ProducerHandle(_Handle):
    """A free buffer, to be filled."""

    @property
    def barrier(self) -> Any:
        """A pointer to the barrier that copies into the buffer arrive at."""
        return self._origin.producer_get_barrier(self._state)

    def commit(self, *, loc: Any = None, ip: Any = None) -> None:
        """Say that the buffer is full."""
        self._origin.producer_commit(self._state)


class _ConsumerHandle(_Handle):
    """A full buffer, to be read."""

    def release(self, *args: Any, loc: Any = None, ip: Any = None) -> None:
        """Say that the buffer was read."""
        self._origin.consumer_release(self._state, *args)


class _Side:
    """What both sides share: the state, and which buffer was taken last.

    Args:
        pipeline: the pipeline.
        state: where to begin.
        cg: the group of the side.
    """

    def __init__(self, pipeline: Any, state: PipelineState, cg: Any = None) -> None:
        self._pipeline = pipeline
        self._at = state
        self._group = cg
        self._went_on: Any = False

    @property
    def state(self) -> PipelineState:
        """Where the side is."""
        return self._at

    def clone(self, *, loc: Any = None, ip: Any = None) -> Any:
        """A side of its own that is where this one is."""
        return type(self)(self._pipeline, self._at.clone(), self._group)

    def reset(self, *, loc: Any = None, ip: Any = None) -> None:
        """Count buffers from 0 again."""
        self._at.reset_count()

    def advance(self, *, loc: Any = None, ip: Any = None) -> None:
        """Go on to the next buffer."""
        self._at.advance()
        self._went_on = False

    def _last(self) -> PipelineState:
        """The state of the buffer that was taken last: the present one, unless the side went on
        when it took it."""
        before = self._at.clone()
        before.reverse()
        if not getattr(self._went_on, "is_dynamic", False):
            return before if self._went_on else self._at.clone()
        names = ("count", "index", "phase")
        pairs = ((getattr(before, n), getattr(self._at, n)) for n in names)
        return PipelineState(
            self._at.stages, *(where(self._went_on, Int32(a), Int32(b)) for a, b in pairs)
        )


class PipelineProducer(_Side):
    """The producers' side; made by a pipeline's `make_participants`.

    Args:
        pipeline: the pipeline.
        state: where to begin.
        cg: the group of the side.
    """

    ImmutableResourceHandle = _ProducerHandle

    @property
    def __state(self) -> PipelineState:  # published kernels look here
        return self._at

    def acquire(
        self, try_acquire_token: Any = None, *, loc: Any = None, ip: Any = None
    ) -> _ProducerHandle:
        """Wait for the buffer that comes next, and stay at it.

        Args:
            try_acquire_token: what `try_acquire` said.
        """
        self._pipeline.producer_acquire(self._at, try_acquire_token)
        self._went_on = False
        return _ProducerHandle(self._pipeline, self._at.clone())

    def acquire_and_advance(
        self, try_acquire_token: Any = None, *, loc: Any = None, ip: Any = None
    ) -> _ProducerHandle:
        """Wait for the buffer that comes next, and go on to the one after it.

        Args:
            try_acquire_token: what `try_acquire` said.
        """
        handle = self.acquire(try_acquire_token)
        self.advance()
        self._went_on = True
        return handle

    def try_acquire(self, *, loc: Any = None, ip: Any = None) -> Any:
        """Whether the buffer that comes next is free, as Boolean."""
        return self._pipeline.producer_try_acquire(self._at)

    def commit(
        self, handle: _ProducerHandle | None = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Say that a buffer is full: that of a handle, or the one that was taken last."""
        if handle is not None:
            handle.commit()
        else:
            self._pipeline.producer_commit(self._last())

    def tail(self, *, loc: Any = None, ip: Any = None) -> None:
        """Wait until consumers have released all buffers."""
        self._pipeline.producer_tail(self._at)


class PipelineConsumer(_Side):
    """The consumers' side; made by a pipeline's `make_participants`.

    Args:
        pipeline: the pipeline.
        state: where to begin.
        cg: the group of the side.
    """

    ImmutableResourceHandle = _ConsumerHandle

    @property
    def __state(self) -> PipelineState:  # published kernels look here
        return self._at

    def wait(
        self, try_wait_token: Any = None, *, loc: Any = None, ip: Any = None
    ) -> _ConsumerHandle:
        """Wait for the buffer that comes next, and stay at it.

        Args:
            try_wait_token: what `try_wait` said.
        """
        self._pipeline.consumer_wait(self._at, try_wait_token)
        self._went_on = False
        return _ConsumerHandle(self._pipeline, self._at.clone())

    def wait_and_advance(
        self, try_wait_token: Any = None, *, loc: Any = None, ip: Any = None
    ) -> _ConsumerHandle:
        """Wait for the buffer that comes next, and go on to the one after it.

        Args:
            try_wait_token: what `try_wait` said.
        """
        handle = self.wait(try_wait_token)
        self.advance()
        self._went_on = True
        return handle

    def try_wait(self, *, loc: Any = None, ip: Any = None) -> Any:
        """Whether the buffer that comes next is full, as Boolean."""
        return self._pipeline.consumer_try_wait(self._at)

    def release(
        self, handle: _ConsumerHandle | None = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Say that a buffer was read: that of a handle, or the one that was taken last."""
        if handle is not None:
            handle.release()
        else:
            self._pipeline.consumer_release(self._last())
