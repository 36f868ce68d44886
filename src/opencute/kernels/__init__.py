# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 11: operators, each in a folder of its own.

Every folder has the same files: ``interface.py``, what to call; ``config.py``, the choices and a
heuristic that makes them; ``reference.py``, the same in NumPy; ``sm*.py``, the kernel for that
architecture and later ones. They are written with the public language only, to be read as models.
"""
