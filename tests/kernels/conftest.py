# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of operators share: the checking simulator, and random arrays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.jit.functions import JitFunction


@pytest.fixture
def checked() -> Iterator[None]:
    """Kernels run in the simulator, with all checks."""
    with KNOBS.override(target="sim", sim_check=True):
        yield


@pytest.fixture
def random() -> Callable[..., Any]:
    """Normally distributed arrays of a shape and type; the same in each run."""
    rng = np.random.default_rng(0)
    return lambda shape, dtype: rng.standard_normal(shape).astype(dtype)


@pytest.fixture
def close() -> Callable[..., None]:
    """Whether a result is near a reference, by the precision of its type; NaNs are equal."""

    def check(got: Any, want: Any, scale: float = 1.0) -> None:
        bits = {"float16": 10, "bfloat16": 7, "float32": 20}[str(got.dtype)]
        np.testing.assert_allclose(
            got.astype(np.float64), want, rtol=2.0**-bits, atol=scale * 2.0**-bits, equal_nan=True
        )

    return check


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """A module of kernels with a fault: some text, which it has so many times, is another one."""

    def load(name: str, text: str, other: str, count: int | None = None) -> ModuleType:
        source = Path(str(importlib.import_module(name).__file__)).read_text()
        found = source.count(text)
        assert found and found == (count or found) and text != other
        path = tmp_path / "planted_kernels.py"
        path.write_text(source.replace(text, other))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def plant(
    planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str, str], None]:
    """Plant a fault in a module, for all modules that have functions or classes from it.

    Configurations and plans are left as they are, so that those of tests are instances of them.
    """

    def everywhere(name: str, text: str, other: str) -> None:
        before, after = vars(importlib.import_module(name)), vars(planted(name, text, other, 1))
        changed = {
            id(old): after[key]
            for key, old in before.items()
            if getattr(old, "__module__", "") == name and not is_dataclass(old)
        }
        for module in [m for n, m in sys.modules.items() if n.startswith("opencute.")]:
            for key, value in list(vars(module).items()):
                if id(value) in changed:
                    monkeypatch.setattr(module, key, changed[id(value)])
                elif isinstance(value, JitFunction):  # with and without what is planted
                    monkeypatch.setattr(value, "versions", {})

    return everywhere


@pytest.fixture
def without_barriers(planted: Callable[..., ModuleType]) -> Callable[[str], ModuleType]:
    """A module of kernels with its block barriers taken out."""
    return lambda name: planted(name, "cute.arch.sync_threads()", "pass")
