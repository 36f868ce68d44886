# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 10: torch, the simulated torch device, import hooks. Nothing heavy is imported here."""
