# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Messages speak of one row and of two rows."""

from __future__ import annotations

import pytest

from opencute.base.errors import ArgumentError
from opencute.base.location import Location
from opencute.base.words import singular

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("at most 1 rows", "at most 1 row"),
        ("f() takes 1 arguments", "f() takes 1 argument"),
        ("1 launches, 1 passes, 1 axes, 1 copies", "1 launch, 1 pass, 1 axis, 1 copy"),
        ("11 rows, 1.1 bytes, 2x1 blocks, -1 values", "11 rows, 1.1 bytes, 2x1 blocks, -1 values"),
        ("0 of 1 threads are there", "0 of 1 threads are there"),
        ("1 rowsum, f16 values", "1 rowsum, f16 values"),
    ],
)
def test_singular(text: str, right: str) -> None:
    assert singular(text) == right


def test_errors_count_one_of_something() -> None:
    error = ArgumentError("it takes 1 arguments", expected="1 rows", hint="give 1 values")
    assert error.message == "it takes 1 argument"
    assert str(error).splitlines()[1:] == ["  expected: 1 row", "  hint: give 1 value"]


def test_the_users_line_stays_as_it_is(tmp_path) -> None:
    file = tmp_path / "own.py"
    file.write_text('print("1 rows")\n')
    assert '"1 rows"' in str(ArgumentError("no", loc=Location(str(file), 1, 0)))
