# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 6: the staged driver. A traced module goes in; each stage comes out when it is asked for."""
