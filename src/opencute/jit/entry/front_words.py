# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What native code in front of operators and Python agree on: records, in words of 8 bytes.

Python writes a `Front` for each operator and a `Known` for each kind of calls that it has seen,
with its steps and results; `front` reads them. A call is described in `SCRATCH` bytes of memory.
"""

from __future__ import annotations

import enum

from opencute.jit.entry.words import Offsets

__all__ = [
    "ALIGNED", "KEY", "MADE", "MOST_THINGS", "MOST_WORDS", "OBJECT", "OBJECTS", "PLACES", "SCRATCH",
    "THING", "THINGS", "VIEW", "WORDS", "Action", "Front", "Given", "Known", "Step",
]  # fmt: skip

MOST_THINGS, MOST_WORDS = 64, 512
ALIGNED = 256
"""Bytes in which the places of tensors are told apart: no kernel asks for more."""
MADE = 64
"""Bytes that the places of new tensors are multiples of, on every device."""


class Front(Offsets):
    """An operator."""

    SLOW = enum.auto()  # a Python function with the same arguments
    WATCHED_AT = enum.auto()  # not 0 there: calls are being recorded, which Python makes
    TABLE = enum.auto()  # of `Known` records, by hash; 0 where there is none
    MASK = enum.auto()  # its size, a power of two, less 1
    HITS = enum.auto()  # calls that took no Python


class Known(Offsets):
    """A kind of calls, and what they do."""

    HASH = enum.auto()
    COUNT = enum.auto()
    KEY = enum.auto()
    ALIASES = enum.auto()  # three words each: two tensors, bytes from the one to the other
    ALIAS_COUNT = enum.auto()
    APART = enum.auto()  # four words each: two tensors, bytes of each, which share no memory
    APART_COUNT = enum.auto()
    STEPS = enum.auto()
    STEP_COUNT = enum.auto()
    RESULTS = enum.auto()  # as `Given`
    RESULT_COUNT = enum.auto()  # of a tuple; -1: the result is the only one
    OWNER = enum.auto()  # an object that keeps all this


class Step(Offsets):
    """One step."""

    ACTION = enum.auto()
    A = enum.auto()
    B = enum.auto()
    C = enum.auto()
    D = enum.auto()
    E = enum.auto()


class Action(enum.IntEnum):
    """What a step is; in brackets what its words hold."""

    MAKE = 0  # a tensor (A a function, B its arguments, C how many, D keywords, E low address)
    PART = 1  # of memory that was made (A thing, B bytes)
    NUMBER = 2  # the next one of (A an iterator)
    LAUNCH = 3  # (A version, B patches, C how many)


class Given(Offsets):
    """What is returned: a thing (A), part of one (A thing, B four objects), an object (B)."""

    KIND = enum.auto()
    A = enum.auto()
    B = enum.auto()


THING, VIEW, OBJECT = range(3)

# A call's description: how many words and tensors, the words, the tensors, where their memory is.
WORDS, THINGS, KEY = 0, 8, 16
OBJECTS = KEY + 8 * MOST_WORDS
PLACES = OBJECTS + 8 * MOST_THINGS
SCRATCH = PLACES + 8 * MOST_THINGS
