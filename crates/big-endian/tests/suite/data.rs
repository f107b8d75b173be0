//! Initial values of global variables.

use cellworks_big_endian::rewrite;

/// Returns the rewritten line of a global variable.
fn global(line: &str) -> String {
    let ir = format!("%struct.S = type {{ float, ptr }}\n{line}\n");
    let big = rewrite(&ir).unwrap_or_else(|error| panic!("{error}"));
    big.lines().nth(1).expect("the variable stays").to_owned()
}

#[test]
fn the_bytes_of_initial_values_are_turned_round() {
    for (line, big) in [
        (
            "@a = global i32 1, align 4",
            "@a = global i32 16777216, align 4",
        ),
        (
            "@a = global i16 -2, align 2",
            "@a = global i16 65279, align 2",
        ),
        ("@a = global i24 1", "@a = global i24 65536"),
        (
            "@a = common dso_local global [2 x i32] zeroinitializer, align 4",
            "@a = weak dso_local global [2 x i32] zeroinitializer, align 4",
        ),
        (
            "@a = dso_local constant i64 -9223372036854775808",
            "@a = dso_local constant i64 128",
        ),
        (
            "@a = global i64 18446744073709551615",
            "@a = global i64 18446744073709551615",
        ),
        (
            "@a = global float 1.500000e+00, align 4",
            "@a = global i32 49215, align 4",
        ),
        (
            "@a = global float 0x3FB99999A0000000",
            "@a = global i32 3452750909",
        ),
        (
            "@a = global float 0xFFF8000000000000",
            "@a = global i32 49407",
        ),
        ("@a = global double -2.000000e+00", "@a = global i64 192"),
        (
            "@a = global [2 x i16] [i16 1, i16 2]",
            "@a = global [2 x i16] [ i16 256, i16 512 ]",
        ),
        (
            "@a = global <4 x float> splat (float 1.0)",
            "@a = global <4 x i32> splat (i32 32831)",
        ),
        (
            "@a = global <2 x double> <double 0.0, double 1.0>",
            "@a = global <2 x i64> < i64 0, i64 61503 >",
        ),
        (
            "@a = internal global <{ i8, i32, [2 x float] }> <{ i8 7, i32 1, [2 x float] undef }>",
            "@a = internal global <{ i8, i32, [2 x i32] }> <{ i8 7, i32 16777216, [2 x i32] undef }>",
        ),
        (
            "@a = global %struct.S { float 1.5, ptr null }",
            "@a = global { i32, ptr } { i32 49215, ptr null }",
        ),
        (
            "@a = global [1 x %struct.S] zeroinitializer",
            "@a = global [1 x { i32, ptr }] zeroinitializer",
        ),
        (
            "@a = global ptr inttoptr (i32 1 to ptr)",
            "@a = global ptr inttoptr (i32 16777216 to ptr)",
        ),
    ] {
        assert_eq!(global(line), big);
    }
}

#[test]
fn strings_and_what_lies_elsewhere_stay() {
    for line in [
        r#"@.str = private unnamed_addr constant [5 x i8] c"@a\22 1\00", align 1"#,
        "@a = external global i32, align 4",
        "@a = extern_weak global float",
        "@a = dso_local global i8 1, align 1",
        "@b = dso_local alias i32, ptr @a",
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, \
         ptr @f, ptr null }]",
    ] {
        assert_eq!(global(line), line);
    }
}

#[test]
fn an_address_in_data_is_not_folded_into_code() {
    for (line, big) in [
        (
            "@a = global ptr @b, align 4",
            "@a = externally_initialized global ptr @b, align 4",
        ),
        (
            "@a = internal constant [2 x ptr] [ptr @b, ptr getelementptr (i8, ptr @c, i32 4)]",
            "@a = internal externally_initialized constant [2 x ptr] [ ptr @b, ptr getelementptr (i8, \
             ptr @c, i32 4) ]",
        ),
        (
            "@a = global i32 ptrtoint (ptr @b to i32)",
            "@a = externally_initialized global i32 ptrtoint (ptr @b to i32)",
        ),
        (
            "@a = global i32 add (i32 ptrtoint (ptr @b to i32), i32 4)",
            "@a = externally_initialized global i32 add (i32 ptrtoint (ptr @b to i32), i32 4)",
        ),
    ] {
        assert_eq!(global(line), big);
    }
}

#[test]
fn an_initial_value_that_is_not_known_is_refused() {
    for line in [
        "@a = global half 0xH3C00",
        "@a = global float nan",
        "@a = global i1 true",
        "@a = global i16 trunc (i32 ptrtoint (ptr @b to i32) to i16)",
        "@a = global i64 ptrtoint (ptr @b to i64)",
        "@a = global i32 sub (i32 ptrtoint (ptr @b to i32), i32 ptrtoint (ptr @c to i32))",
        "@a = global i32 add (i32 ptrtoint (ptr @b to i32), i32 ptrtoint (ptr @c to i32))",
        "@a = global [2 x i32] [i32 1, i16 2]",
        "@a = global %struct.T zeroinitializer",
        "@a = ifunc i32 (), ptr @b",
    ] {
        let error = rewrite(&format!("\n{line}\n")).expect_err(line).to_string();
        assert!(error.starts_with("line 2 of the program's IR"), "{error}");
        assert!(error.contains(line), "{error}");
    }
}

#[test]
fn the_address_of_a_label_is_a_number() {
    let ir = "@table = internal constant [2 x ptr] [ptr blockaddress(@f, %4), ptr blockaddress(@f, %3)]\n\
              define void @f(ptr %p) {\n  br label %2\n\n2:\n  indirectbr ptr %p, [label %3, label %4], !dbg !1\n\n\
              3:\n  ret void\n\n4:\n  ret void\n}\n";
    let big = rewrite(ir).unwrap();
    for line in [
        "[2 x ptr] [ ptr inttoptr (i32 16777216 to ptr), ptr inttoptr (i32 33554432 to ptr) ]",
        "  %label.number = ptrtoint ptr %p to i32\n  switch i32 %label.number, label %no.label [\n    \
         i32 1, label %4\n    i32 2, label %3\n  ], !dbg !1\n\nno.label:\n  unreachable\n",
    ] {
        assert!(big.contains(line), "{big}");
    }
}
