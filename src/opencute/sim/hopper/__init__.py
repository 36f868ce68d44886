# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What Hopper adds to the simulator: units that work on their own, mbarriers, clusters, products of
warpgroups, and the checks of the order between them and the threads."""
