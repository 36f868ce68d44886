# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Hopper's products with one thing left out or changed, as the tests of faults run them.

A fault is (module, text, other text): the module's source, in which the text stands once.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.gemm import HopperConfig, visitors
from opencute.kernels.gemm.sm90_plan import HopperPlan

PACKAGE = "opencute.kernels.gemm."
HALF = cutlass.Float16


def changed(
    tmp_path: Path, patch: pytest.MonkeyPatch, name: str, changes: list[tuple[str, str]]
) -> ModuleType:
    """A copy of a module of the package, changed and known as `planted_<name>`."""
    path = Path(str(importlib.import_module(PACKAGE + name).__file__))
    source = path.read_text()
    for text, other in changes:
        assert source.count(text) == 1, text
        source = source.replace(text, other)
    copy = tmp_path / f"planted_{name}.py"
    copy.write_text(source)
    spec = importlib.util.spec_from_file_location(copy.stem, copy)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, copy.stem, module)
    spec.loader.exec_module(module)
    return module


def kernel_with(
    tmp_path: Path, patch: pytest.MonkeyPatch, module: str, text: str, other: str
) -> Any:
    """The launch of a product with a fault."""
    if module == "sm90":
        return changed(tmp_path, patch, "sm90", [(text, other)]).hopper_gemm
    changed(tmp_path, patch, module, [(text, other)])
    imports = (f"from {PACKAGE}{module} import", f"from planted_{module} import")
    return changed(tmp_path, patch, "sm90", [imports]).hopper_gemm


def multiply(launch: Any, config: HopperConfig, m: int, n: int, k: int, *, added: int) -> None:
    """Run a product in the checking simulator, compare it with NumPy.

    Args:
        added: how often a matrix is loaded and added in the epilogue.
    """
    rng = np.random.default_rng(0)
    a, b, c = (
        rng.integers(-3, 4, shape).astype(np.float16) for shape in ((1, m, k), (1, n, k), (1, m, n))
    )
    d = np.zeros((1, m, n), np.float16)
    pieces = [visitors.add(c)] * added
    visitor = visitors.chain(*pieces).plan()
    plan = HopperPlan(
        config.check(), (HALF, HALF, HALF), (True, True), visitor, (HALF,) * len(pieces),
        (False, False), config.most, 232448,
    )  # fmt: skip
    tensor = lambda x: from_dlpack(x).mark_layout_dynamic(leading_dim=2)  # noqa: E731
    with KNOBS.override(target="sim", sim_check=True):
        launch(tensor(a), tensor(b), tensor(d), (tensor(c),) * added, plan)
    want = a[0].astype(np.float32) @ b[0].astype(np.float32).T + added * c[0]
    np.testing.assert_array_equal(d[0], want.astype(np.float16))
