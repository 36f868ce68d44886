# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 4: IR to IR, one pass per file; `pipelines` is the table of contents.

A pass is a function ``(module, target) -> None`` that changes the module in place.
"""
