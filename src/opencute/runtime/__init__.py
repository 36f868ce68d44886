# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 3: the CUDA driver, launches, arrays from outside, and the disk cache. Never the compiler.

`driver`, `device`, `module`, `launch`, `stream` and `timing` drive a GPU; `dlpack` takes arrays of
any framework; `cache` keeps compiled code on disk. Everything imports, and checks its arguments, on a machine without a GPU.
"""
