# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Single instructions by PTX's names: what `cutlass.experimental.primitives` is made of."""
