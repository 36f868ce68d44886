# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Options that say what tensors of an example hold."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from opencute import cute
from opencute.cute import testing

pytestmark = pytest.mark.t0


def parsed(*words: str) -> Any:
    parser = argparse.ArgumentParser()
    testing.add_tensor_init_args(parser, supports_int_dtypes=True)
    args = parser.parse_args(words)
    testing.validate_tensor_init_args(args, parser)
    return args


def test_options() -> None:
    args = parsed()
    assert (args.init_normal, args.normal_mean, args.normal_std) == (False, 0.0, 1.0)
    args = parsed("--init_normal", "--normal_mean", "2", "--normal_std", "0.5")
    assert (args.init_normal, args.normal_mean, args.normal_std) == (True, 2.0, 0.5)


@pytest.mark.parametrize("words", [("--normal_mean", "2"), ("--init_normal", "--normal_std", "0")])
def test_contradictions(words: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        parsed(*words)
    assert words[-2] in capsys.readouterr().err


def test_packed_shapes() -> None:
    assert cute.core._pack_shape([128, (64, 1)]) == (128, (64, 1))
    assert cute.core._pack_tile((128, 8)) == (128, 8)
    assert cute.nvgpu.CacheEvictionPriority.NO_ALLOCATE.value == "no_allocate"
