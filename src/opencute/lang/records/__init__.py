# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Classes of users that are records of run-time numbers.

native    `cute.native_struct`: fields of fixed types that can be assigned
"""

from __future__ import annotations

__all__: list[str] = []
