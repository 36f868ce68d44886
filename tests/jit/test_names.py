# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names of compiled code: stable, and the user's to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0


def _names(**options: Any) -> tuple[str, list[str]]:
    """The host function's and the kernels' names."""
    prefix = options.pop("prefix", None)

    @cute.kernel
    def scale(a: cute.Tensor):
        a[0] = a[0] + 1

    @cute.jit
    def host(a: cute.Tensor):
        if prefix is not None:
            scale.set_name_prefix(prefix, **options)
        scale(a).launch(grid=(1, 1, 1), block=(1, 1, 1))
        scale(a).launch(grid=(1, 1, 1), block=(1, 1, 1))

    if prefix is not None:
        host.set_name_prefix(prefix, **options)
    compiled = cute.compile(host, from_dlpack(np.zeros(1, np.int32)))
    module = compiled.artefacts.module
    kernels = [str(op.symbol) for op in module.walk() if op.name == "gpu.func"]
    return compiled.artefacts.name, kernels


def test_default_names_are_the_functions() -> None:
    assert _names() == ("host", ["scale_0", "scale_1"])
    assert _names() == ("host", ["scale_0", "scale_1"])


@pytest.mark.parametrize("remove", [False, True])
def test_prefixes(remove: bool) -> None:
    named = {"prefix": "my_op", "remove_cutlass_symbol": remove}
    assert _names(**named) == ("my_op_host", ["my_op_scale_0", "my_op_scale_1"])
    assert _names(**named, keep_mangled_name=False) == ("my_op", ["my_op_0", "my_op_1"])
    assert _names(prefix="") == ("host", ["scale_0", "scale_1"])


def test_names_that_are_empty() -> None:
    @cute.jit
    def host(a: cute.Tensor): ...

    with pytest.raises(ArgumentError) as e:
        host.set_name_prefix("", remove_cutlass_symbol=True, keep_mangled_name=False)
    assert e.value.code == "OC2195"
    with pytest.raises(ArgumentError):
        host.set_name_prefix(3)
