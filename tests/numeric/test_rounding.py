# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names and defaults of rounding modes."""

from __future__ import annotations

import pytest

from opencute.base.errors import ArgumentError
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.rounding import check_rounding, default_rounding, default_saturate

pytestmark = pytest.mark.t0


def test_defaults() -> None:
    want = {"f64": "rne", "f16": "rne", "tf32": "rna", "i32": "rtz", "u4": "rtz", "i1": "rtz"}
    assert {n: default_rounding(DTYPES[n]) for n in want} == want
    for t in DTYPES.values():
        assert default_saturate(t) == (t.is_float and t.width <= 8)


@pytest.mark.parametrize("mode", ["rne", "rna", "rtz", "rd", "ru"])
def test_known_names_pass(mode: str) -> None:
    assert check_rounding(mode, DTYPES["f16"]) == mode


def test_none_is_the_default_and_other_names_are_refused() -> None:
    assert check_rounding(None, DTYPES["tf32"]) == "rna"
    with pytest.raises(ArgumentError, match="no rounding is called 'rn'") as e:
        check_rounding("rn", DTYPES["f16"])
    assert e.value.code == "OC2020"
