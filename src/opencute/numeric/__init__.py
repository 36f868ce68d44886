# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1: element types: records, promotion, bit-exact conversion, packing."""
