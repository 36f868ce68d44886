// RUN: invalid
// expect: OC1040 3:22
"a.b"() {x = 1} : () } -> ()
// -----
// a custom form
// expect: OC1040 3:1
arith.addi
// -----
// expect: OC1040 2:8
"a.b"()[^bb1] : () -> ()
// -----
// expect: OC1040 2:1
"nodots"() : () -> ()
// -----
// expect: OC1041 2:18
"a.b"() : () -> (i1000)
// -----
// expect: OC1041 2:17
"a.b"() : () -> !nope.type
// -----
// expect: OC1040 2:24
"a.b"() : () -> vector<0xf32>
// -----
// expect: OC1042 2:7
"a.b"(%x) : (i32) -> ()
// -----
// a use before its definition
// expect: OC1042 5:16
"a.c"() ({
  ^bb0(%x: i32):
    %y = "a.b"(%z) : (i32) -> i32
    %z = "a.b"(%x) : (i32) -> i32
}) : () -> ()
// -----
// a use outside of the region
// expect: OC1042 7:9
"a.c"() ({
  "a.d"() ({
    %x = "a.b"() : () -> i32
  }) : () -> ()
  "a.b"(%x) : (i32) -> ()
}) : () -> ()
// -----
// expect: OC1043 4:3
"a.c"() ({
  %x = "a.b"() : () -> i32
  %x = "a.b"() : () -> i32
}) : () -> ()
// -----
// expect: OC1043 2:17
"a.b"() {x = 1, x = 2} : () -> ()
// -----
// expect: OC1044 4:9
"a.c"() ({
  %x = "a.b"() : () -> i32
  "a.b"(%x) : (i64) -> ()
}) : () -> ()
// -----
// expect: OC1044 2:1
%x = "a.b"() : () -> ()
// -----
// expect: OC1046 2:14
"a.b"() {x = 300 : i8} : () -> ()
// -----
// expect: OC1046 2:14
"a.b"() {x = 1 : f32} : () -> ()
// -----
// expect: OC1046 2:14
"a.b"() {x = 1.0e999 : f32} : () -> ()
// -----
// expect: OC1046 2:14
"a.b"() {x = "\q"} : () -> ()
// -----
// expect: OC1046 2:37
"a.b"() {x = dense<[1, 2, 3]>     : vector<2xi32>} : () -> ()
// -----
// expect: OC1046 2:14
"a.b"() {x = #cute.layout<"(1,2">} : () -> ()
// -----
// expect: OC1046 2:17
"a.b"() : () -> !cute.ptr<f16, gmem, align<3>>
// -----
// expect: OC1046 2:17
"a.b"() : () -> !cute.ptr<f16, nowhere, align<2>>
