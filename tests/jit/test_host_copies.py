# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors on a GPU that the simulator reads; the driver is one that copies host memory."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opencute.jit import host_copies
from opencute.jit.host_copies import HostCopies

pytestmark = pytest.mark.t0


@dataclass
class OnGpu:
    """A contiguous view of a NumPy array, as a tensor on a device."""

    view: Any
    ordinal: int = 0
    read_only: bool = False
    array: Any = field(init=False)

    def __post_init__(self) -> None:
        self.array = SimpleNamespace(device=(2, self.ordinal), read_only=self.read_only)
        self.data_ptr = self.view.ctypes.data

    def span_bytes(self) -> tuple[int, int]:
        return 0, self.view.nbytes


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was copied: which way, and how many bytes."""
    done: list[tuple[str, int]] = []

    def call(name: str, *args: Any) -> None:
        if name.startswith("cuMemcpy"):
            done.append((name[8:], args[2]))
            ctypes.memmove(*args)

    monkeypatch.setattr(host_copies.driver, "call", call)
    monkeypatch.setattr(host_copies.driver, "use_device", lambda ordinal: nullcontext())
    return done


def seen(copies: HostCopies, tensor: OnGpu) -> Any:
    """The copy as an array."""
    at = (ctypes.c_float * tensor.view.size).from_address(copies.address(tensor))  # type: ignore[arg-type]
    return np.frombuffer(at, np.float32)


def test_what_shares_memory_shares_a_copy(copied: list[tuple[str, int]]) -> None:
    memory = np.arange(100, dtype=np.float32)
    tensors = [OnGpu(memory[60:80]), OnGpu(memory[10:40]), OnGpu(memory[20:50])]
    copies = HostCopies(tensors)  # type: ignore[arg-type]
    assert sorted(copied) == [("DtoH", 80), ("DtoH", 160)]
    seen(copies, tensors[1])[10] = -1
    assert seen(copies, tensors[2])[0] == -1 and memory[20] == 20
    copies.copy_back()
    assert memory[20] == -1 and memory.tolist().count(-1) == 1


def test_what_may_not_be_written_is_not_copied_back(copied: list[tuple[str, int]]) -> None:
    memory = np.arange(8, dtype=np.float32)
    tensor = OnGpu(memory, read_only=True)
    copies = HostCopies([tensor, OnGpu(np.zeros(0, np.float32))])  # type: ignore[list-item]
    seen(copies, tensor)[0] = 5
    copies.copy_back()
    assert memory[0] == 0 and copied == [("DtoH", 32)]


def test_devices_have_memory_of_their_own(copied: list[tuple[str, int]]) -> None:
    memory = np.arange(8, dtype=np.float32)
    first, second = OnGpu(memory), OnGpu(memory, ordinal=1)
    copies = HostCopies([first, second])  # type: ignore[list-item]
    seen(copies, second)[0] = 5
    assert seen(copies, first)[0] == 0 and len(copied) == 2
