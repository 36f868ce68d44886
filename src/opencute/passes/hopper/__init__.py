# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How Hopper's operations become PTX instructions: rules of `tiles`, one file per family."""
