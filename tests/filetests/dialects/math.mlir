// RUN: mlir-opt
// Exact points of elementary functions.
// run: @sqrt(9.0) == 3.0
// run: @sqrt(-1.0) == nan
// run: @floor(-0.5) == -1.0
// run: @ceil(-0.5) == -0.0
// run: @trunc(-1.5) == -1.0
// run: @round(2.5) == 3.0
// run: @roundeven(2.5) == 2.0
// run: @absf(-0.0) == 0.0
// run: @exp2(3.0) == 8.0
// run: @fma(2.0, 3.0, 4.0) == 10.0
// run: @ctpop(255) == 8
// run: @ctlz(1) == 31
// run: @cttz(8) == 3
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.sqrt"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "sqrt", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.floor"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "floor", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.ceil"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "ceil", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.trunc"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "trunc", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.round"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "round", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.roundeven"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "roundeven", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.absf"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "absf", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "math.exp2"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "exp2", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = "math.fma"(%a, %b, %c) : (f32, f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "fma", function_type = (f32, f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %r = "math.ctpop"(%a) : (i32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "ctpop", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %r = "math.ctlz"(%a) : (i32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "ctlz", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %r = "math.cttz"(%a) : (i32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "cttz", function_type = (i32) -> i32} : () -> ()
}) : () -> ()
