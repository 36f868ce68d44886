# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Write the pages; prints which have changed."""

from __future__ import annotations

from opencute.tools.reference.pages import write

__all__: list[str] = []

if __name__ == "__main__":
    for path in write():
        print(path)
