# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Inline PTX in the simulator.

`syntax` reads the text, `expand` replaces it by operations that the simulator has: `ptx.compute`
for what only computes (`integers`, `bitwise`, `floats` and `conversions` say what), and the `ptx`
dialect's own operations for memory, warps and barriers.
"""
