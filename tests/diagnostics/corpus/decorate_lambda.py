# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Lambdas have no statements, and no name."""

import cutlass.cute as cute

host = cute.jit(lambda: None)
