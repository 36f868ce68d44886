# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names that are planned say so, and no name is both planned and there."""

from __future__ import annotations

import importlib

import pytest

from opencute.base.coming import MODULES, NAMES
from opencute.base.lazy import lazy_names

pytestmark = pytest.mark.t1


@pytest.mark.parametrize("module", sorted(NAMES))
def test_what_is_planned_is_not_there(module: str) -> None:
    found = importlib.import_module(f"opencute.{module}".rstrip("."))
    there = [n for n in sorted(NAMES[module]) if n in found.__all__]
    assert there == []
    with pytest.raises(AttributeError, match="not in OpenCuTe yet"):
        getattr(found, min(NAMES[module]))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_planned_modules_say_so(module: str) -> None:
    with pytest.raises(ImportError, match="not in OpenCuTe yet"):
        importlib.import_module(f"cutlass.{module}")


@pytest.mark.parametrize(
    "line",
    [
        "from cutlass.cute.nvgpu import tcgen05",
        "from cutlass.utils import TmemAllocator",
        "from cutlass import jax",
        "from cutlass.cute import arch, experimental",
        "from cutlass.pipeline import PipelineTmaUmma as P",
        "from cutlass.utils.blackwell_helpers import get_tmem_load_op",
    ],
)
def test_importing_what_is_planned_says_so(line: str) -> None:
    with pytest.raises(ImportError, match="not in OpenCuTe yet; docs"):
        exec(line, {})


def test_importing_a_misspelt_name_says_what_is_close() -> None:
    with pytest.raises(ImportError, match="did you mean zipped_divide"):
        exec("from cutlass.cute import zipped_divid", {})


def test_asking_for_a_planned_name_is_no_error() -> None:
    utils = importlib.import_module("cutlass.utils")
    assert not hasattr(utils, "TmemAllocator")
    assert getattr(utils, "TmemAllocator", None) is None


def test_a_name_from_elsewhere_leads_to_one_that_is_planned() -> None:
    from opencute import cute

    table = {"tmem_alloc": "cute.arch.alloc_tmem"}
    load, _, _ = lazy_names("opencute.cute", {}, table)
    with pytest.raises(AttributeError, match=r"cute\.arch\.alloc_tmem, which is not in .* yet"):
        load("tmem_alloc")
    with pytest.raises(AttributeError, match=r"it is cute\.arch\.thread_idx$"):
        _ = cute.thread_idx
