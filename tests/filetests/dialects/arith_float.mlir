// RUN: mlir-opt
// Rounding to nearest even in each type, NaN and signed zeros.
// run: @addf(16777216.0, 1.0) == 16777216.0
// run: @subf(1.0, 1.0) == 0.0
// run: @mulf(-0.0, 2.0) == -0.0
// run: @divf(1.0, 0.0) == inf
// run: @divf(0.0, 0.0) == nan
// run: @maximumf(nan, 1.0) == nan
// run: @maxnumf(nan, 1.0) == 1.0
// run: @minimumf(0.0, -0.0) == -0.0
// run: @minnumf(1.0, nan) == 1.0
// run: @remf(-7.0, 2.0) == -1.0
// run: @ordered_equal(nan, nan) == false
// run: @unordered_equal(nan, nan) == true
// run: @negf(0.0) == -0.0
// run: @pick(true, 1.0, 2.0) == 1.0
// run: @half(2049.0) == 2048.0
// run: @half(65520.0) == inf
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.addf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "addf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.subf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "subf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.mulf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "mulf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.divf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "divf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.remf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "remf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.maximumf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "maximumf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.maxnumf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "maxnumf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.minimumf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "minimumf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.minnumf"(%a, %b) : (f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "minnumf", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.cmpf"(%a, %b) {predicate = 1 : i64} : (f32, f32) -> i1
    "func.return"(%r) : (i1) -> ()
  }) {sym_name = "ordered_equal", function_type = (f32, f32) -> i1} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %r = "arith.cmpf"(%a, %b) {predicate = 8 : i64} : (f32, f32) -> i1
    "func.return"(%r) : (i1) -> ()
  }) {sym_name = "unordered_equal", function_type = (f32, f32) -> i1} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "arith.negf"(%a) : (f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "negf", function_type = (f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%c: i1, %a: f32, %b: f32):
    %r = "arith.select"(%c, %a, %b) : (i1, f32, f32) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "pick", function_type = (i1, f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: f32):
    %r = "arith.truncf"(%a) : (f32) -> f16
    "func.return"(%r) : (f16) -> ()
  }) {sym_name = "half", function_type = (f32) -> f16} : () -> ()
}) : () -> ()
