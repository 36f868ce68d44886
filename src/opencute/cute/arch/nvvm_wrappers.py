# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.arch.nvvm_wrappers`: the names of `cute.arch`, from where some kernels import them."""

from __future__ import annotations

from typing import Any

from opencute.cute import arch

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(arch, name)
