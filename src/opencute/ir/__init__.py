# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 2: the SSA core. It knows types, attributes, operations and regions, and nothing of CuTe."""
