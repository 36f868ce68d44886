# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whose frames are taken for the user's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from opencute.frontend import locations
from opencute.frontend.locations import here, is_internal, traced

pytestmark = pytest.mark.t0


@contextlib.contextmanager
def entered() -> Iterator[None]:
    yield


def test_what_lies_between_is_nobodys() -> None:
    assert is_internal(type(entered()).__enter__.__code__)
    assert is_internal(compile("0", "<simulated kernel>", "exec"))
    assert not is_internal(test_what_lies_between_is_nobodys.__code__)


SOURCE = """
from opencute.frontend.locations import here

def outer(call):
    return inner(call), here()

def inner(call):
    first = here()
    second = call()
    return first, second, here()
"""


def test_a_kernel_of_the_library_is_where_no_user_is() -> None:
    scope: dict[str, Any] = {}
    exec(compile(SOURCE, f"{locations.KERNELS}made/up.py", "exec"), scope)
    (first, second, third), last = traced(scope["outer"], scope["here"])
    assert [x.line for x in (first, second, third, last)] == [8, 9, 10, 5]
    assert first.function == "inner" and last.function == "outer" and first.caller is None
    # What a user's function does is the user's, also if the kernel that calls it is known by now.
    (first, second, _), _ = traced(scope["outer"], lambda: here())
    assert second.file == __file__ and first.file.endswith("up.py")
    # Where a user's function called the library's kernel, that call is the position.
    (first, _, _), last = traced(lambda: scope["outer"](here))
    assert first.file == last.file == __file__
    locations.forget_frames()
    assert not locations._alone
