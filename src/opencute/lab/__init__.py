# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 11: checking and timing of kernel files; see `verify` and `bench`."""
