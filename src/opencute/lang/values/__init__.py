# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What numbers can do besides arithmetic: chosen rounding, packed pairs, division by invariants."""
