#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`python scripts/verify_kernel.py kernel.py ...` is `opencute verify kernel.py ...`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from opencute.tools.cli import main

main(["verify", *sys.argv[1:]], prog_name="opencute")
