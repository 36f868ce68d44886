# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which sums become fma, and with which signs."""

from __future__ import annotations

import numpy as np
import pytest

from codegen.samples import unary_tile
from opencute.dialects import arith
from opencute.ir.attributes import UNIT
from opencute.ir.core import Op, Value
from opencute.ir.types import F16, F32
from opencute.passes.contract_fma import contract_fma
from opencute.passes.pipelines import kernels
from passes.simulated import apply, run

pytestmark = pytest.mark.t0


def names(module: Op) -> list[str]:
    return [op.name for op in module.walk()]


def product(x: Value) -> Value:
    return arith.binary("mulf", x, arith.constant(3.0, x.type))


@pytest.mark.parametrize("element", [F32, F16], ids=str)
@pytest.mark.parametrize("form", ["p+x", "x+p", "p-x", "x-p"])
def test_forms(form: str, element: object) -> None:
    def make(x: Value) -> Value:
        p = product(x)
        left, right = (p, x) if form[0] == "p" else (x, p)
        return arith.binary("addf" if form[1] == "+" else "subf", left, right)

    module = unary_tile(element, 4, make)  # type: ignore[arg-type]
    x = np.array([1, -2, 0.5, 3], np.float32 if element == F32 else np.float16)
    args = [x, np.zeros_like(x)]
    want = run(module, 1, 1, args)[1]  # exact on these numbers
    apply(module, contract_fma)
    assert "math.fma" in names(module) and "arith.mulf" not in names(module)
    assert (run(module, 1, 1, args)[1] == want).all()


def test_a_product_with_another_use_stays() -> None:
    def make(x: Value) -> Value:
        p = product(x)
        return arith.binary("addf", p, arith.negf(p))

    assert "math.fma" not in names(apply(unary_tile(F32, 4, make), contract_fma))


def test_two_products_make_one_fma() -> None:
    module = unary_tile(F32, 4, lambda x: arith.binary("addf", product(x), product(arith.negf(x))))
    apply(module, contract_fma)
    assert names(module).count("math.fma") == 1 and names(module).count("arith.mulf") == 1


def test_it_can_be_switched_off() -> None:
    module = unary_tile(F32, 4, lambda x: arith.binary("addf", product(x), x))
    kernels(module)[0].attributes["cute.no_contract"] = UNIT
    assert "math.fma" not in names(apply(module, contract_fma))


def test_again_changes_nothing() -> None:
    module = apply(unary_tile(F32, 4, lambda x: arith.binary("addf", product(x), x)), contract_fma)
    text = str(module)
    assert str(apply(module, contract_fma)) == text
