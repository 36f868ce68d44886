from opencute.codegen.emitter import OpPrinter

MATH: dict[str, OpPrinter] = {}
