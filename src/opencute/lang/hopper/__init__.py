# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What Hopper adds to the language: mbarriers, clusters, registers and products of warpgroups,
copies by tensor maps and other bulk copies."""
