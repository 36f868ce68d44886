# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 5: Python source to the cute IR: rewrite of control flow, then one run with proxy values."""
