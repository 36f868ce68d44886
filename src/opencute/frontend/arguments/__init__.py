# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What crosses the border between Python and compiled code, beyond tensors and numbers.

`returns`: results of host functions. `protocols`: users' types that say themselves what they are
passed as. `declared`: arguments of a compiled function against what it was compiled for.
"""
