# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Bulk copies in the simulator: tiles by tensor maps, runs of bytes, and their groups."""
