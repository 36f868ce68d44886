# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that are described instead of passed: symbolic integers, fake tensors and streams."""
