# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What kernel authors touch of Hopper: copies by the tensor memory accelerator."""
