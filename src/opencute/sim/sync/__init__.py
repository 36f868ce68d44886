# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What threads share and how they wait for each other: shared memory, barriers, warps, copies in
flight, and the checks of the order between them."""
