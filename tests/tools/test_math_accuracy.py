# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The accuracy of `cute.math`: the simulator here, the stated bounds on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opencute.arch.mathfns import math_fn
from opencute.cute import math as cute_math
from opencute.tools.math_accuracy import (
    ABSOLUTE,
    COMPOSED,
    FUNCTIONS,
    TYPES,
    bound_of,
    composed_row,
    computed,
    errors,
    markdown,
    measured,
    row,
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "math_accuracy.md"
NO_FAST = {"absf", "ceil", "copysign", "floor", "fmod", "rcp", "round", "trunc"}
MADE_OF_OTHERS = {"abs", "fabs", "fma", "isfinite", "isinf", "isnan", "max", "min", "powi", "rint",
                  "roundeven", "sincos"}  # fmt: skip
FAST = [(n, t) for n in FUNCTIONS if n not in NO_FAST for t in ("f32", "f16", "bf16")
        if getattr(math_fn(FUNCTIONS[n][0], t, fast=True), "fast", False)]  # fmt: skip


@pytest.mark.t0
def test_every_function_is_in_the_table() -> None:
    names = {n for n in cute_math.__all__ if callable(getattr(cute_math, n))}
    assert names == set(FUNCTIONS) | set(COMPOSED) | MADE_OF_OTHERS


@pytest.mark.t0
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_simulator_rounds_rightly(name: str) -> None:
    for type in ("f32", "f16", "bf16"):
        assert measured(name, type, "sim") <= 0.50001
    assert measured(name, "f64", "sim") <= 2


@pytest.mark.t0
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", COMPOSED)
def test_functions_made_of_others(name: str, type: str) -> None:
    assert measured(name, type, "sim") <= bound_of(name, type) + 0.0001


@pytest.mark.t2
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", COMPOSED)
def test_functions_made_of_others_on_a_gpu(name: str, type: str) -> None:
    assert measured(name, type, "cuda") <= bound_of(name, type) + 0.0001


@pytest.mark.t0
def test_the_document_is_fresh() -> None:
    text = DOCUMENT.read_text()
    missing = [r for n in FUNCTIONS for t in TYPES if (r := row(n, t)) not in text]
    missing += [r for n in COMPOSED for t in TYPES if (r := composed_row(n, t)) not in text]
    assert not missing, "python -m opencute.tools.math_accuracy > docs/reference/math_accuracy.md"
    assert text.split("| function |")[0] == markdown.__globals__["_HEAD"].split("| function |")[0]


@pytest.mark.t2
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gpu_keeps_the_stated_bounds(name: str, type: str) -> None:
    known = math_fn(FUNCTIONS[name][0], type)
    bound = known.ulp if known is not None else 0.0
    assert measured(name, type, "cuda") <= bound + 0.5001


@pytest.mark.t2
@pytest.mark.parametrize(("name", "type"), FAST)
def test_fast_variants_keep_the_stated_bounds(name: str, type: str) -> None:
    known = math_fn(FUNCTIONS[name][0], type, fast=True)
    assert known is not None and known.fast
    args, out = computed(name, type, "cuda", fast=True)
    error, unit = errors(name, type, args, out)
    allowed = (known.ulp + 0.5001) * unit
    if name in ABSOLUTE:
        allowed = np.maximum(2.0**-10, 4 * unit)
    assert (error <= allowed).all(), (error / unit).max()
