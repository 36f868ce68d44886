# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`BaseDSL` and `Arch`: how kernels ask which processor they are compiled for.

>>> Arch.sm_90a >= Arch.sm_90, Arch.sm_100f.name
(True, 'sm_100f')
"""

from __future__ import annotations

import enum
from functools import total_ordering
from typing import Any

from opencute.arch.target import target
from opencute.compiler.targets import run_target

__all__ = ["Arch", "BaseDSL"]


@total_ordering
class Arch(enum.Enum):
    """A processor: (major, minor, suffix); a family (f) stands above its first member."""

    sm_80 = (8, 0, "")
    sm_86 = (8, 6, "")
    sm_87 = (8, 7, "")
    sm_89 = (8, 9, "")
    sm_90 = (9, 0, "")
    sm_90a = (9, 0, "a")
    sm_100 = (10, 0, "")
    sm_100a = (10, 0, "a")
    sm_100f = (10, 0, "f")
    sm_101 = (10, 1, "")
    sm_101a = (10, 1, "a")
    sm_101f = (10, 1, "f")
    sm_103 = (10, 3, "")
    sm_103a = (10, 3, "a")
    sm_103f = (10, 3, "f")
    sm_110 = (11, 0, "")
    sm_110a = (11, 0, "a")
    sm_110f = (11, 0, "f")
    sm_120 = (12, 0, "")
    sm_120a = (12, 0, "a")
    sm_120f = (12, 0, "f")
    sm_121 = (12, 1, "")
    sm_121a = (12, 1, "a")
    sm_121f = (12, 1, "f")

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Arch):
            return NotImplemented
        return self._order() < other._order()

    def _order(self) -> tuple[int, int, str]:
        value: Any = self.value
        return value

    @property
    def major(self) -> int:
        """The first number."""
        return self.value[0]

    @property
    def minor(self) -> int:
        """The second number."""
        return self.value[1]

    @property
    def suffix(self) -> str:
        """``a``, ``f`` or nothing."""
        return self.value[2]

    @classmethod
    def from_string(cls, text: str) -> Arch:
        """The processor of a name such as ``sm_90a``.

        Args:
            text: the name.
        """
        return cls[target(text).name]

    def to_string(self) -> str:
        """The name."""
        return self.name


class BaseDSL:
    """What kernels ask the compiler while they are set up."""

    _instance: BaseDSL | None = None

    @classmethod
    def _get_dsl(cls) -> BaseDSL:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_arch_enum(self) -> Arch:
        """The processor that is compiled for."""
        return Arch.from_string(run_target().arch)
