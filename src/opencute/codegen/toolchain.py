# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Finding ptxas and the disassembler."""

from __future__ import annotations

import shutil
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["Tool", "find_disassembler", "find_ptxas"]


@dataclass(frozen=True)
class Tool:
    path: str
    version: str
    source: str


def _find(name: str) -> Tool | None:
    for path in Path(sysconfig.get_paths()["purelib"], "nvidia").glob(f"*/bin/{name}"):
        return Tool(str(path), "", "wheel")
    found = shutil.which(name)
    return Tool(found, "", "PATH") if found else None


@lru_cache(maxsize=1)
def find_ptxas() -> Tool:
    tool = _find("ptxas")
    assert tool
    return tool


@lru_cache(maxsize=1)
def find_disassembler() -> Tool | None:
    return _find("nvdisasm")


@lru_cache(maxsize=1)
def find_libdevice() -> Path | None:
    for path in Path(sysconfig.get_paths()["purelib"], "nvidia").glob("*/nvvm/libdevice/*.bc"):
        return path
    return None
