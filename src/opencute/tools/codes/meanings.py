# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the codes mean that several modules raise with words of their own.

A code that one module raises means what its messages say. Where others raise it too, in other
words, this table says what all of them mean; a test holds it to that, so that a number taken twice
is found::

    shared_codes()["OC1237"]     # {"lang.tiled.calls": {...}, "lang.tiled.copying": {...}}
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import opencute
from opencute.tools.codes.catalogue import messages_of

__all__ = ["MEANINGS", "shared_codes"]

MEANINGS: dict[str, str] = {
    "OC1043": "a name is given twice in the text of a module",
    "OC1045": "the text of a module is nested too deep",
    "OC1050": "there is no such stage of compilation",
    "OC1067": "an instruction needs another processor",
    "OC1113": "a range needs numbers known at compile time",
    "OC1121": "what is compiled has to be a function that 'def' defines",
    "OC1122": "a construct of Python that compiled functions do not have",
    "OC1143": "there is no attribute of this name",
    "OC1205": "a number cannot be made from this",
    "OC1207": "an operator of integers meets something else",
    "OC1208": "a function of numbers meets something else",
    "OC1210": "a pointer is needed",
    "OC1211": "an address moves by integers",
    "OC1220": "a vector of this many elements is not possible here",
    "OC1224": "how a matrix is stored is not said by a member of the right enumeration",
    "OC1227": "what goes with a bulk copy, or one by tensor maps, is missing or not for it",
    "OC1236": "an operand of a copy is no tensor of the kind that it copies",
    "OC1237": "a copy atom is needed",
    "OC1238": "what is written is of another type than where it goes",
    "OC1244": "integers have no power whose exponent is an integer of run time",
    "OC1250": "objects of several paths do not become one",
    "OC1256": "an argument is of another kind than its parameter's annotation",
    "OC1267": "there is no such keyword argument",
    "OC1268": "a function is called with too few or too many arguments",
    "OC1272": "there is no such instruction of matrix products",
    "OC1273": "an instruction has no such field",
    "OC1277": "a copy is not between these memories",
    "OC1278": "an MMA atom or a tiled MMA is needed",
    "OC1280": "the atom of a product does not take this operand",
    "OC1281": "an operand of a product is not where the atom reads it",
    "OC1290": "an instruction on integers meets something else",
    "OC1301": "something stands where a layout, or a part of one, is needed",
    "OC1303": "extents do not divide each other",
    "OC1306": "nested tuples differ in their form",
    "OC1308": "a coordinate does not fit a shape",
    "OC1309": "a tiler or profile does not fit a layout",
    "OC1310": "an operation has no answer for such strides",
    "OC1312": "a layout that has to be one-to-one, or nested in itself, is not",
    "OC1353": "a shape cannot be repeated to make another",
    "OC1354": "a slice is none that can be taken here",
    "OC1355": "a function does not take a layout of this kind",
    "OC1356": "what is stored, or its mask, has another size than its place",
    "OC1357": "a shape is not known while tracing that has to be",
    "OC1358": "a layout has to be known at compile time",
    "OC1362": "an operand of a copy needs a static shape",
    "OC1363": "source and destination of a copy differ in size",
    "OC1367": "a vector and a tensor in registers have at least one element",
    "OC1369": "a tensor does not fit the shared memory that it lies in",
    "OC1379": "an operand of a product has no static plain layout",
    "OC1382": "the shapes of a product's operands do not go together",
    "OC1480": "there is no such instruction",
    "OC1484": "the operands do not have the registers of the atom",
    "OC1485": "there is no such atom of products",
    "OC1486": "operands of products have static layouts with three modes",
    "OC1487": "the shapes of the operands of a product do not fit",
    "OC1488": "an operand of a product is not what the atom takes",
    "OC1528": "the processor has no instruction for this",
    "OC1601": "a copy has no such reduction, or no such group of blocks",
    "OC2010": "the memory of an array or a tensor cannot be used as it is",
    "OC2011": "the elements of an array are of no type that can be used",
    "OC2013": "torch keeps gradients of what is done with a tensor, and would not see a kernel",
    "OC2107": "the mode with stride 1 cannot be told",
    "OC2109": "stride_order does not fit the tensor",
    "OC2113": "a number does not fit in its bits",
    "OC2115": "an argument that is a whole number, or several, is something else",
    "OC2128": "an instruction has no such choice",
    "OC2129": "no block may have this shared memory",
    "OC2130": "a call's arguments are not those of the function",
    "OC2131": "an argument is of another kind than what the function was compiled for",
    "OC2144": "a tensor has no memory",
    "OC2147": "a function cannot be exported to C",
    "OC2148": "a file of exported functions cannot be read",
    "OC2180": "the shape or order of a tile scheduler's tiles",
    "OC2185": "an argument of a pipeline is of another kind",
    "OC2189": "a barrier cannot count these bytes",
    "OC2220": "a pointer to shared memory is needed",
    "OC2406": "an operator that is tuned has no such option, or its value is not possible",
    "OC2500": "an array has too few axes",
    "OC2502": "an array has another shape than it must have",
    "OC2503": "rows cannot be shared among these threads or blocks",
    "OC2507": "an operator does not take elements of this type",
    "OC2511": "tiles do not fit in shared memory",
    "OC2517": "a product has no matrices of this type besides its operands",
    "OC2523": "an array does not fit the queries",
    "OC2525": "there is no attention of these types",
    "OC2530": "an operand is no array",
    "OC2531": "an argument is of another kind",
    "OC2532": "an array has no memory that a kernel could read, or torch.vmap cannot map over it",
    "OC2533": "a bias is of a type that is not added to products",
    "OC2536": "a product cannot be shared out so",
    "OC2538": "a product on Hopper cannot be shared like this, or its tiles have no place",
    "OC2539": "a product needs a kernel for Hopper",
    "OC2540": "what is done to the sums does not fit the products, or does not go together",
    "OC2542": "a result shares memory with what is read, or written, meanwhile",
    "OC2560": "decoding cannot be shared among blocks and warps like this",
    "OC2580": "these matrices or shapes are no grouped product",
    "OC2581": "a grouped product takes no elements of this type",
    "OC2582": "an operand or result of a grouped product does not fit, or cannot be read by TMA",
    "OC2586": "matrices of grouped products are not where the product is computed",
    "OC2915": "the record of an atom contradicts itself",
    "OC2916": "there is no record of such an atom",
    "OC2918": "an access has no such hint",
    "OC2931": "no tensor map can be made of these facts",
    "OC3001": "the simulator cannot run an operation",
    "OC3017": "a part of a warp does what a whole warp does",
    "OC3090": "the simulator cannot run this assembly",
    "OC3201": "an access is misaligned",
    "OC3202": "an access begins inside of a byte",
}
"""Codes that several modules raise in their own words, and what all of them say."""


@lru_cache(maxsize=1)
def shared_codes() -> dict[str, dict[str, frozenset[str]]]:
    """Codes that several modules raise with different words: messages by module."""
    root = Path(opencute.__file__).parent
    places: dict[str, dict[str, set[str]]] = {}
    for file in sorted(root.rglob("*.py")):
        if file == root / "base" / "errors.py":
            continue  # the default codes of whole kinds of errors
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        for code, messages in messages_of(ast.parse(file.read_text(encoding="utf-8"))):
            places.setdefault(code, {}).setdefault(module, set()).update(messages)
    return {
        code: {module: frozenset(m) for module, m in modules.items()}
        for code, modules in sorted(places.items())
        if len(modules) > 1 and len(set[str]().union(*modules.values())) > 1
    }
