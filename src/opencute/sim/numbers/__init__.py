# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as the hardware has them: roundings, NaNs, bits, and fast ways to compute them."""
