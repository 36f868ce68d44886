# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Source positions in machine code: call chains of helpers, and reading them back."""
