# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m opencute` is the `opencute` command."""

from __future__ import annotations

from opencute.tools.cli import main

if __name__ == "__main__":
    main(prog_name="opencute")
