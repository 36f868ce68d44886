# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The 8-byte words that Python writes and native code reads.

Each enumeration names the words of one record; a member's value is its byte offset. Pointers to
Python objects are borrowed: whoever writes a record keeps what it points to alive.
"""

from __future__ import annotations

import enum

__all__ = ["Arg", "Check", "Kind", "Offsets", "State", "Version"]


class Offsets(enum.IntEnum):
    """The words of a record, by their byte offsets."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count * 8

    @classmethod
    def size(cls) -> int:
        """Words of a record."""
        return len(cls)


class State(Offsets):
    """What native code needs to know of Python, torch and our classes; one in a process."""

    NONE = enum.auto()
    TENSOR = enum.auto()  # the class ExternalTensor, and where its slots are in an instance
    OWNER_AT = enum.auto()
    RECORD_AT = enum.auto()
    STORAGE_AT = enum.auto()
    MARKS_AT = enum.auto()
    ARRAY_AT = enum.auto()
    TORCH_TENSOR = enum.auto()  # 0 until torch is there
    TORCH_PARAMETER = enum.auto()
    TORCH_EXPORT = enum.auto()  # dltensor_from_py_object_no_sync of its DLPack exchange
    TORCH_GRAD_ENABLED = enum.auto()
    TORCH_MODES = enum.auto()  # a function: how many dispatch modes there are in this thread
    TORCH_LEVELS = enum.auto()  # a dict whose item CURRENT_LEVEL is NO_LEVEL where there are no
    CURRENT_LEVEL = enum.auto()  # derivatives forwards
    NO_LEVEL = enum.auto()
    REQUIRES_GRAD = enum.auto()  # names, as Python strings
    IS_NEG = enum.auto()
    UNTYPED_STORAGE = enum.auto()
    LEADING_DIM = enum.auto()
    AS_STRIDED = enum.auto()
    DESCRIBED_PARTS = enum.auto()
    PARTED = enum.auto()  # a class whose objects have that method, or 0
    CUDA_STREAM = enum.auto()
    TYPES = enum.auto()  # DLPack's words of the element types that the language has
    TYPE_COUNT = enum.auto()
    SLOW_FROM_DLPACK = enum.auto()  # Python functions with the same arguments
    SLOW_MARK = enum.auto()
    SAME_CONSTANT = enum.auto()  # whether two objects are one constant
    POINTER = enum.auto()  # the class ExternalPointer
    POINTER_ADDRESS_AT = enum.auto()
    POINTER_DTYPE_AT = enum.auto()
    POINTER_SPACE_AT = enum.auto()
    POINTER_ALIGN_AT = enum.auto()
    NUMBER_VALUE_AT = enum.auto()  # the slot `value` of a Numeric


class Version(Offsets):
    """A compiled function and the arguments for which it was compiled."""

    COUNT = enum.auto()  # of arguments
    ARGS = enum.auto()
    SLOTS = enum.auto()  # what the host function gets, where arguments do not fill it
    SLOT_COUNT = enum.auto()
    HOST = enum.auto()
    LAUNCHES = enum.auto()
    LAUNCHES_AT = enum.auto()
    STREAM = enum.auto()  # DLPack's current_work_stream, or 0
    STREAM_READER = enum.auto()  # else a Python function from DEVICE, or 0 for the legacy stream
    DEVICE_OBJECT = enum.auto()
    DEVICE = enum.auto()
    CURRENT_DEVICE = enum.auto()  # cuCtxGetDevice where there are several devices, or 0
    FAILED = enum.auto()  # a Python function that raises for a CUresult
    CHECKS = enum.auto()
    CHECK_COUNT = enum.auto()


class Arg(Offsets):
    """One argument of a version."""

    KIND = enum.auto()
    SLOT = enum.auto()
    A = enum.auto()
    B = enum.auto()
    C = enum.auto()
    D = enum.auto()
    E = enum.auto()
    F = enum.auto()


class Kind(enum.IntEnum):
    """What an argument is; in brackets what its words A to F hold."""

    SAME = 0  # this very object (A)
    TENSOR = 1  # (A device, B element type, C rank, D table, E alignment, F mark word)
    INT = 2  # an int (A least, B greatest)
    FLOAT = 3  # a float (A bits)
    BOOL = 4
    NUMBER_INT = 5  # a Numeric (C its class) with an int, as INT
    NUMBER_FLOAT = 6  # a Numeric (C its class) with a float, as FLOAT
    HANDLE = 7  # a stream (A its type, B 1 if it has `cuda_stream`, 0 if it converts to int)
    POINTER = 8  # (A element type, B space, C alignment)
    EQUAL_INT = 9  # an int that equals A
    TUPLE = 10  # (A length, B its class, C 1 for a list, D its items as arguments)
    EQUAL = 11  # an object that equals A, a frozen dataclass, and is like it in all else
    INT_FLOAT = 12  # an int for a float (A bits)


class Check(enum.IntEnum):
    """One thing that must be as it was: words (check, A, B, expected)."""

    DICT = 0  # A[B] is the expected object, or missing if that is 0
    CELL = 1
    CODE = 2  # of the function A
    DEFAULTS = 3
    KEYWORD_DEFAULTS = 4
    ATTRIBUTE = 5
    LENGTH = 6  # of the list or dict A
    ITEM = 7  # of the list A at B
    TYPE = 8
    WORD = 9  # the 8 bytes at address A
    SPACE = 10  # the dict A: the next B checks hold if its tag is the expected one
    KEYS = 11  # of the dict A are those of the tuple B, in its order
    NUMBER = 12  # that the function A gives, called without arguments
