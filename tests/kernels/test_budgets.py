# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What shipped kernels may cost: at their default configurations, on every architecture, nothing is
spilled, nothing lies in local memory, and memory is accessed 128 bits at a time.

Calls of interfaces are recorded instead of made, then compiled for each architecture.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.kernels import cross_entropy as ce
from opencute.kernels import norm, reduce, scan, softmax, transpose
from opencute.kernels.norm.sm80 import norm as a_launcher

pytestmark = pytest.mark.t1

ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
PACKAGES = ["cross_entropy", "norm", "reduce", "scan", "softmax", "transpose"]
NARROW = {
    "cross_entropy", "reduce_along", "reduce_across", "scan_along", "scan_across",
    "scan_across_tiles", "scan_tiles",
}  # fmt: skip
"""Launchers that also read or write single numbers: losses, results, sums of parts."""
SIDE_BY_SIDE = {"scan_across_tiles"}
"""Launchers that may give a lane a word only: few columns make narrow tiles, whose warps read and
write 128 bytes of a row at once all the same."""


def _x(n: int, dtype: Any = np.float16, m: int = 4) -> Any:
    return np.ones((m, n), dtype)


def _norms(n: int, dtype: Any) -> None:
    x, w = _x(n, dtype), np.ones(n, dtype)
    norm.layer_norm(x, w, w)
    norm.rms_norm(x, w, residual=x, prenorm=True)
    norm.layer_norm_backward(x, x, w)
    norm.rms_norm_backward(x, x, w, prenorm_grad=x)


def _losses(n: int, dtype: Any) -> None:
    x, target, lse = _x(n, dtype), np.zeros(4, np.int64), np.ones(4, np.float32)
    ce.cross_entropy(x, target)
    ce.cross_entropy_backward(lse, x, target, lse)
    softmax.softmax(x)
    softmax.softmax_backward(x, x)


def _moves() -> None:
    for dtype in (np.int8, np.float16, np.float32):
        transpose.transpose(_x(256, dtype, 256))
    reduce.sum(_x(8192), 1)
    reduce.sum(_x(8192), 0)
    reduce.argmax(_x(8192, np.float32), 1)
    reduce.argmax(_x(8192, np.float32), 0)
    scan.cumsum(_x(8192), 1)
    scan.cumsum(_x(8192), 0)
    scan.cumsum(_x(256, m=600), 0)
    scan.cumsum(_x(1 << 17, m=1), 1)


GROUPS: dict[str, Callable[[], None]] = {
    "norms of 16 bits": lambda: _norms(8192, np.float16),
    "norms of 32 bits": lambda: _norms(32_768, np.float32),
    "long norms": lambda: _norms(100_000, ml_dtypes.bfloat16),
    "losses of 16 bits": lambda: _losses(8192, ml_dtypes.bfloat16),
    "losses of 32 bits": lambda: _losses(32_768, np.float32),
    "long losses": lambda: _losses(100_000, np.float16),
    "moves": _moves,
}
UNALIGNED: dict[str, Callable[[], Any]] = {
    "columns one at a time": lambda: scan.cumsum(_x(333, np.float32, 1000), 0),
}


def _modules() -> list[Any]:
    names = [f"{p}.{m}" for p in PACKAGES for m in ("interface", "sm80")]
    names.append("scan.sm80_across")
    return [
        importlib.import_module(f"opencute.kernels.{n}") for n in (*names, "norm.sm80_backward")
    ]


@cache
def _recorded(group: str) -> tuple[Artefacts, ...]:
    calls: list[tuple[Any, tuple[Any, ...]]] = []
    # What every processor runs: kernels for newer ones have tests of their own.
    with pytest.MonkeyPatch.context() as patch, KNOBS.override(target="sim:sm_80"):
        for module in _modules():
            for name, value in list(vars(module).items()):
                if type(value) is type(a_launcher):
                    patch.setattr(
                        module, name, lambda *args, fn=value: calls.append((fn, args)), raising=True
                    )
        (GROUPS | UNALIGNED)[group]()
    assert calls
    with KNOBS.override(target="sim"):
        return tuple(cute.compile[cute.GPUArch("sm_80")](fn, *args).artefacts for fn, args in calls)


def _widths(ptx: str) -> Counter[int]:
    """Global accesses by width in bits."""
    found: Counter[int] = Counter()
    for many, bits in re.findall(r"\b(?:ld|st)\.global\S*?(?:\.v(\d))?\.[bfus](\d+)\b", ptx):
        found[int(many or 1) * int(bits)] += 1
    return found


# Every kernel on every processor; other types and lengths on one of each size of shared memory.
EVERYWHERE = ("norms of 16 bits", "losses of 16 bits", "moves")
CASES = [
    (group, arch)
    for group in (*GROUPS, *UNALIGNED)
    for arch in (ARCHITECTURES if group in EVERYWHERE else ("sm_80", "sm_90", "sm_120"))
]


@pytest.mark.parametrize(("group", "arch"), CASES)
def test_nothing_is_spilled(group: str, arch: str) -> None:
    for traced in _recorded(group):
        made = Artefacts(traced.name, traced.module, arch, traced.options)
        for name, report in made.kernel_info.items():
            assert report.spill_loads == report.spill_stores == report.stack == 0, (name, report)
        assert ".local" not in made.ptx


@pytest.mark.parametrize("group", GROUPS)
def test_accesses_are_wide(group: str) -> None:
    for traced in _recorded(group):
        widths = _widths(traced.ptx)
        if any(name in traced.name for name in SIDE_BY_SIDE):
            assert min(widths) >= 32, (traced.name, widths)
            continue
        assert widths[128], (traced.name, widths)
        if not any(name in traced.name for name in NARROW):
            assert set(widths) == {128}, (traced.name, widths)


def test_spills_and_narrow_accesses_would_be_found() -> None:
    x = _x(8193, np.float32)
    calls: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(softmax.sm80, "softmax", lambda *args: calls.append(args))
        softmax.softmax(x)
    with KNOBS.override(target="sim"):
        traced = cute.compile[cute.GPUArch("sm_80")](softmax.sm80.softmax, *calls[0]).artefacts
    assert set(_widths(traced.ptx)) == {32}


def test_every_launcher_is_here() -> None:
    seen = {a.name for group in GROUPS for a in _recorded(group)}
    shipped = {
        name
        for module in _modules()
        if module.__name__.rpartition(".")[2].startswith("sm80")
        for name in module.__all__
        if type(getattr(module, name)) is type(a_launcher) and name != "long_logsum"
    }
    missing = {s for s in shipped if not any(s in name for name in seen)}
    assert missing <= {"transpose_elements"}, missing
