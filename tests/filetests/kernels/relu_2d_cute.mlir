// RUN: mlir-opt
// ReLU of a row-major (m, n) array of f16, eight elements per thread: tiles of memory.
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: !cute.ptr<f16, gmem, align<16>>, %c: !cute.ptr<f16, gmem, align<16>>, %m: i32, %n: i32, %stream: !llvm.ptr):
    %one = "arith.constant"() {value = 1 : i32} : () -> i32
    %eight = "arith.constant"() {value = 8 : i32} : () -> i32
    %threads = "arith.constant"() {value = 256 : i32} : () -> i32
    %columns = "arith.floordivsi"(%n, %eight) : (i32, i32) -> i32
    %total = "arith.muli"(%m, %columns) : (i32, i32) -> i32
    %blocks = "arith.ceildivsi"(%total, %threads) : (i32, i32) -> i32
    "gpu.launch_func"(%blocks, %one, %one, %threads, %one, %one, %a, %c, %columns, %total, %stream) {kernel = @kernels::@relu, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 4, 1>} : (i32, i32, i32, i32, i32, i32, !cute.ptr<f16, gmem, align<16>>, !cute.ptr<f16, gmem, align<16>>, i32, i32, !llvm.ptr) -> () loc("relu_host"("relu_2d.py":29:5 to :40))
    "func.return"() : () -> ()
  }) {sym_name = "relu_host", function_type = (!cute.ptr<f16, gmem, align<16>>, !cute.ptr<f16, gmem, align<16>>, i32, i32, !llvm.ptr) -> ()} : () -> ()
  "gpu.module"() ({
    "gpu.func"() ({
    ^bb0(%a: !cute.ptr<f16, gmem, align<16>>, %c: !cute.ptr<f16, gmem, align<16>>, %columns: i32, %total: i32):
      %tidx = "ptx.sreg"() {reg = "tid.x"} : () -> i32 loc("relu_kernel"("relu_2d.py":11:5))
      %bidx = "ptx.sreg"() {reg = "ctaid.x"} : () -> i32
      %bdim = "ptx.sreg"() {reg = "ntid.x"} : () -> i32
      %first = "arith.muli"(%bidx, %bdim) : (i32, i32) -> i32
      %idx = "arith.addi"(%first, %tidx) : (i32, i32) -> i32
      %inside = "arith.cmpi"(%idx, %total) {predicate = 2 : i64} : (i32, i32) -> i1
      "scf.if"(%inside) ({
        %row = "arith.floordivsi"(%idx, %columns) : (i32, i32) -> i32
        %skipped = "arith.muli"(%row, %columns) : (i32, i32) -> i32
        %column = "arith.subi"(%idx, %skipped) : (i32, i32) -> i32
        %eight = "arith.constant"() {value = 8 : i64} : () -> i64
        %row64 = "arith.extsi"(%row) : (i32) -> i64
        %column64 = "arith.extsi"(%column) : (i32) -> i64
        %columns64 = "arith.extsi"(%columns) : (i32) -> i64
        %stride = "arith.muli"(%columns64, %eight) : (i64, i64) -> i64
        %down = "arith.muli"(%row64, %stride) : (i64, i64) -> i64
        %right = "arith.muli"(%column64, %eight) : (i64, i64) -> i64
        %offset = "arith.addi"(%down, %right) : (i64, i64) -> i64
        %from = "cute.ptr_add"(%a, %offset) : (!cute.ptr<f16, gmem, align<16>>, i64) -> !cute.ptr<f16, gmem, align<16>>
        %x = "cute.tile_load"(%from, %stride) {layout = #cute.layout<"(1,8):(?{i64 div=8},1)">} : (!cute.ptr<f16, gmem, align<16>>, i64) -> vector<8xf16> loc("relu_kernel"("relu_2d.py":19:13 to :54))
        %zero = "arith.constant"() {value = dense<0.0> : vector<8xf16>} : () -> vector<8xf16>
        %positive = "arith.cmpf"(%x, %zero) {predicate = 2 : i64} : (vector<8xf16>, vector<8xf16>) -> vector<8xi1>
        %y = "arith.select"(%positive, %x, %zero) : (vector<8xi1>, vector<8xf16>, vector<8xf16>) -> vector<8xf16>
        %to = "cute.ptr_add"(%c, %offset) : (!cute.ptr<f16, gmem, align<16>>, i64) -> !cute.ptr<f16, gmem, align<16>>
        "cute.tile_store"(%y, %to, %stride) {layout = #cute.layout<"(1,8):(?{i64 div=8},1)">} : (vector<8xf16>, !cute.ptr<f16, gmem, align<16>>, i64) -> () loc("relu_kernel"("relu_2d.py":20:9))
        "scf.yield"() : () -> ()
      }, {
        "scf.yield"() : () -> ()
      }) : (i1) -> () loc("relu_kernel"("relu_2d.py":18:8 to :42))
      "gpu.return"() : () -> ()
    }) {sym_name = "relu", function_type = (!cute.ptr<f16, gmem, align<16>>, !cute.ptr<f16, gmem, align<16>>, i32, i32) -> (), gpu.kernel, cute.reqntid = array<i32: 256, 1, 1>} : () -> ()
  }) {sym_name = "kernels"} : () -> ()
}) {gpu.container_module} : () -> ()
