// RUN: mlir-opt
// Conversions: sign and zero extension, clamping of floats, bits.
// run: @extsi(-1) == -1
// run: @extui(-1) == 255
// run: @trunci(511) == -1
// run: @fptosi(-2.9) == -2
// run: @fptosi(1e20) == 2147483647
// run: @fptosi(nan) == 0
// run: @fptoui(-5.0) == 0
// run: @sitofp(-3) == -3.0
// run: @uitofp(-1) == 255.0
// run: @bitcast(1.0) == 1065353216
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i8):
    %r = "arith.extsi"(%a) : (i8) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "extsi", function_type = (i8) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8):
    %r = "arith.extui"(%a) : (i8) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "extui", function_type = (i8) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %r = "arith.trunci"(%a) : (i32) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "trunci", function_type = (i32) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "arith.fptosi"(%a) : (f32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "fptosi", function_type = (f32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "arith.fptoui"(%a) : (f32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "fptoui", function_type = (f32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %r = "arith.sitofp"(%a) : (i32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "sitofp", function_type = (i32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8):
    %r = "arith.uitofp"(%a) : (i8) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "uitofp", function_type = (i8) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "arith.bitcast"(%a) : (f32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "bitcast", function_type = (f32) -> i32} : () -> ()
}) : () -> ()
