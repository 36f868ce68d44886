# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Python objects that change while a kernel is traced.

objects    what a mutable object consists of, and how to make and fill one
kept       state in closures, functions and classes
watch      which objects a branch or loop body changed
links      objects that are one in one path of the program and two in another
"""

from __future__ import annotations

__all__: list[str] = []
