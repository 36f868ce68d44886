# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Codes of errors: what the sources say of them, what they mean and what to change."""
