# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 7: `@jit`, `@kernel` and `compile`; the only place where compiler and runtime meet."""
