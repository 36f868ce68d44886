# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of calls: what they tell apart, and what has none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from opencute.kernels.gemm.visitors import Visitor, add_columns, chain, column, scale
from opencute.kernels.repeat.described import described

pytestmark = pytest.mark.t0
torch: Any = pytest.importorskip("torch")


@dataclass(frozen=True)
class Config:
    threads: int


@dataclass
class Changing:
    threads: int


def key(*args: Any, **kwargs: Any) -> Any:
    found = described((torch.empty(4, 8), *args), kwargs)
    return None if found is None else found[0][1:]


def finish(x: Any, tile: Any) -> Any:
    return x


def zeros(*shape: int) -> Any:
    """An array that begins where addresses are multiples of 256."""
    room = torch.zeros(math.prod(shape) + 64)
    return room[-room.data_ptr() % 256 // 4 :].as_strided(shape, torch.empty(shape).stride())


def test_equal_calls_have_equal_keys() -> None:
    for make in (
        lambda: zeros(64, 32), lambda: zeros(64, 32).T, lambda: 1.5, lambda: "gelu",
        lambda: (None, 4), lambda: Config(4), lambda: finish,
        lambda: torch.nn.Parameter(zeros(3), requires_grad=False),
    ):  # fmt: skip
        assert key(make()) is not None and key(make()) == key(make())
        assert key(x=make()) == key(x=make()) != key(y=make())


def test_what_counts_is_told_apart() -> None:
    base = zeros(4096)
    at = lambda n, *shape: base[n:].as_strided(shape, (shape[1], 1))  # noqa: E731
    different = [
        at(0, 8, 8), at(4, 8, 8), at(1, 8, 8), at(0, 8, 16), at(0, 8, 8).T, at(0, 8, 8).half(),
        1, 1.0, True, 0.0, -0.0, None, "1", (1,), (1, 1), Config(1), Config(2), finish, key,
    ]  # fmt: skip
    keys = [key(value) for value in different]
    assert None not in keys
    for i, a in enumerate(keys):
        assert not any(a == b for b in keys[i + 1 :]), different[i]
    assert key(at(0, 8, 8)) == key(at(64, 8, 8)), "64 floats are 256 bytes"


def test_visitors_are_what_they_are_made_of() -> None:
    v, w, h = zeros(32), zeros(32), zeros(32).half()
    assert key(Visitor(finish, v=column(v))) == key(Visitor(finish, v=column(w)))
    assert key(Visitor(finish, v=column(v))) != key(Visitor(finish, w=column(v)))
    assert key(Visitor(finish, v=column(v))) != key(Visitor(finish, v=column(h)))
    assert key(Visitor(finish, v=column(v))) != key(Visitor(key, v=column(v)))
    assert key(chain(add_columns(v))) == key(chain(add_columns(w)))
    assert key(chain(scale(2.0))) != key(chain(scale(3.0)))


def test_what_has_no_key() -> None:
    wants = torch.zeros(8, requires_grad=True)
    for value in (
        np.zeros(3), [1], Changing(1), torch.zeros(()), torch.zeros(1), wants, object(),
        torch.zeros(4).to_sparse(), torch.zeros(4, dtype=torch.complex64).conj().imag,
        torch.float16, (1, [2]), np.float32(1.0),
    ):  # fmt: skip
        assert key(value) is None, value
    assert described((1, "x"), {}) is None, "no tensor, no launch"
    with torch.no_grad():
        assert key(wants) is not None and key(wants)[-1][-1] is True
