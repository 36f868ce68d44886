# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 0: errors, source locations, knobs, counters, hashing. Imports nothing of OpenCuTe."""
