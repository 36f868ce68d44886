# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The order of kernels that may overlap (programmatic dependent launch)."""
