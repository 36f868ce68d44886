# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the first tutorials as machine code: no spills, and the accesses that their pages
show."""

from __future__ import annotations

import re
from typing import Any

import pytest

import cutlass.cute as cute
from opencute.base.knobs import KNOBS
from opencute.tools import show
from tutorials.first_steps import FOLDER, page
from tutorials.steps import load

pytestmark = pytest.mark.t1

_ACCESS = re.compile(r"^ +(?:\w+ \w+ +\d+ bits|HMMA\S+) +\d+ x +step(\d)\.py:\d+$", re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "step"), [("first_kernel", 2), ("sgemm", 3), ("sgemm", 4), ("sgemm", 5)]
)
def test_machine_code(name: str, step: int, monkeypatch: Any) -> None:
    folder = FOLDER / name
    module = load(folder / f"step{step}.py", monkeypatch)
    seen: list[Any] = []
    (host,) = (v for k, v in vars(module).items() if k in ("axpy", "add", "transpose", "softmax",
                                                           "gemm"))  # fmt: skip

    def compiled(*args: Any) -> None:
        seen.append(cute.compile(host, *args))

    monkeypatch.setattr(module, host.fn.__name__, compiled)
    with KNOBS.override(target="sim:sm_90a", cache_enabled=False):
        module.kernel_fn(*module.get_inputs())
        text = "\n".join(show.explain([seen[0].artefacts])).replace(f"{folder}/", "")
    assert "no spills" in text
    shown = [m[0] for m in _ACCESS.finditer(page(name)) if int(m[1]) == step]
    assert shown and all(row in text for row in shown), text
