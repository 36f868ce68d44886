# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 2: hardware as frozen records that check themselves.

`target` has one record per processor, `copies` one per copy atom, `mathfns` one per elementary
function, element type and variant. Passes, code generator and simulator read the same rows.
"""
