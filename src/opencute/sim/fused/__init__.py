# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of scalar operations as one native loop over the lanes, instead of a pass for each."""
