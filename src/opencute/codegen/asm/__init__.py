# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline assembly in machine code: how it is printed, and whose fault a rejected line is."""
