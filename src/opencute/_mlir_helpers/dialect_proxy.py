# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`DialectAutoConvertProxy`: a dialect's functions that take numbers as they are."""

from __future__ import annotations

from typing import Any

__all__ = ["DialectAutoConvertProxy"]


class DialectAutoConvertProxy:
    """A dialect module; its functions convert what they are given anyway.

    Args:
        dialect: the module.
    """

    def __init__(self, dialect: Any) -> None:
        self._dialect = dialect

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dialect, name)
