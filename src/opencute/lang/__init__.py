# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 4: what kernel authors touch: numbers, tensors, vectors, layouts on tensors, copies."""
