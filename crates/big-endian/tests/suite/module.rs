//! Lines outside functions and variables.

use cellworks_big_endian::rewrite;

/// Returns the rewritten module.
fn module(ir: &str) -> String {
    rewrite(ir).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_target_is_webassembly() {
    let big = module(
        "target datalayout = \"E-m:e-p:32:32-Fn32-i64:64-n32\"\n\
         target triple = \"powerpc\"\n\
         attributes #0 = { nounwind \"no-builtins\" \"target-cpu\"=\"pwr8\" \
         \"target-features\"=\"+altivec,+vsx\" }\n",
    );
    assert_eq!(
        big,
        "target datalayout = \"e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20\"\n\
         target triple = \"wasm32-unknown-wasip1\"\n\
         attributes #0 = { nounwind \"no-builtins\" \"target-features\"=\"+bulk-memory,\
         +mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128\" }\n"
    );
}

#[test]
fn names_of_assembler_are_imports() {
    for (name, module_name, function) in [
        ("spu.rdch", "spu", "rdch"),
        ("env.emscripten_longjmp", "env", "emscripten_longjmp"),
        ("ppu.context_run", "ppu", "context_run"),
        (
            "wasi_snapshot_preview1.fd_write",
            "wasi_snapshot_preview1",
            "fd_write",
        ),
        (
            "__imported_wasi_snapshot_preview1_fd_read",
            "wasi_snapshot_preview1",
            "fd_read",
        ),
    ] {
        assert_eq!(
            module(&format!("declare i32 @{name}(i32 noundef) #2\n")),
            format!(
                "declare i32 @{name}(i32 noundef) #2 \"wasm-import-module\"=\"{module_name}\" \
                 \"wasm-import-name\"=\"{function}\"\n"
            )
        );
    }
    let plain = "declare i32 @spurious(i32) #2\n";
    assert_eq!(module(plain), plain);
}

#[test]
fn a_function_with_unnamed_arguments_has_another_type_than_without() {
    assert_eq!(
        module("declare i32 @printf(ptr noundef, ...) #2\n"),
        "declare i32 @printf(ptr noundef, i128, float, ...) #2\n"
    );
    let big = module("define i32 @sum(i32 noundef %0, ...) #2 {\n  ret i32 %0\n}\n");
    let first = "define i32 @sum(i32 noundef %0, i128 %cellworks.mark0, float %cellworks.mark1, \
                 ...) #2 {\n";
    assert!(big.starts_with(first), "{big}");
}

#[test]
fn a_function_without_known_parameters_gets_those_of_its_calls() {
    assert_eq!(
        module("declare i32 @old(...) #2\n"),
        "declare i32 @old(...) #2 \"no-prototype\"\n"
    );
}

#[test]
fn main_is_the_cells() {
    let big = module(
        "@.str = constant [6 x i8] c\"@main\\00\"\n\
         @again = global ptr @main\n\
         define i32 @main(i32 %0) {\n  %2 = call i32 @main(i32 1)\n  call void @main2()\n  ret i32 %2\n}\n",
    );
    assert_eq!(
        big,
        "@.str = constant [6 x i8] c\"@main\\00\"\n\
         @again = externally_initialized global ptr @__cell_main\n\
         define i32 @__cell_main(i32 %0) {\n  %2 = call i32 @__cell_main(i32 1)\n  call void @main2()\n  \
         ret i32 %2\n}\n"
    );
}

#[test]
fn main_returns_0_at_its_end() {
    let main = |name: &str| {
        format!(
            "define i32 @{name}(i64 %0) {{\n  %2 = alloca i32, align 4\n  %3 = alloca i64, align 8\n  \
             %4 = load i32, ptr %2, align 4\n  ret i32 %4\n}}\n"
        )
    };
    let zero = "  store i32 0, ptr %2, align 4\n";
    for name in ["main", "__cell_main", "_Z11__cell_mainyyy"] {
        let big = module(&main(name));
        let expected = main("__cell_main").replace("  %3 = a", &format!("{zero}  %3 = a"));
        assert_eq!(big, expected, "{name}");
    }
    assert_eq!(module(&main("other")), main("other"));
}

#[test]
fn main_has_its_name_in_texts() {
    let variable = |text: &str| format!("@__func__.x = private constant {text}, align 1\n");
    assert_eq!(
        module(&variable("[12 x i8] c\"__cell_main\\00\"")),
        variable("[5 x i8] c\"main\\00\"")
    );
    let asm = "define i32 @__cell_main() {\n  %1 = call i32 asm sideeffect \"mfcr $0\", \"=r\"() #5\n  \
               ret i32 %1\n}\n";
    let error = rewrite(asm).expect_err("assembler").to_string();
    assert!(error.contains("function `main`"), "{error}");
}

#[test]
fn main_takes_a_union_as_a_register() {
    let ir = |name: &str| {
        format!(
            "%union.addr64 = type {{ i64 }}\n\
             define i32 @{name}(i32 noundef %0, ptr noundef byval(%union.addr64) align 8 %1) #0 {{\n  \
             %3 = getelementptr inbounds [2 x i32], ptr %1, i32 0, i32 1\n  call void @f(ptr %1, ptr %10)\n  \
             ret i32 0\n}}\n"
        )
    };
    for name in ["main", "__cell_main", "_Z11__cell_maini6addr64"] {
        assert_eq!(
            module(&ir(name)),
            "%union.addr64 = type { i64 }\n\
             define i32 @__cell_main(i32 noundef %0, <4 x i32> %1) #0 {\n  \
             %cellworks.0 = call <4 x i32> @llvm.bswap.v4i32(<4 x i32> %1)\n  \
             %cellworks.1 = alloca { %union.addr64, <4 x i32> }, align 16\n  \
             store { %union.addr64, <4 x i32> } zeroinitializer, ptr %cellworks.1, align 16\n  \
             store <4 x i32> %cellworks.0, ptr %cellworks.1, align 16\n  \
             %3 = getelementptr inbounds [2 x i32], ptr %cellworks.1, i32 0, i32 1\n  \
             call void @f(ptr %cellworks.1, ptr %10)\n  ret i32 0\n}\n\
             declare <4 x i32> @llvm.bswap.v4i32(<4 x i32>)\n",
            "{name}"
        );
    }
    let other = module(&ir("other"));
    assert!(
        other.contains("ptr noundef byval(%union.addr64) align 8 %1) #0"),
        "{other}"
    );
}

#[test]
fn main_takes_a_vector_as_words() {
    assert_eq!(
        module(
            "define i32 @main(<8 x i16> noundef %0) #0 {\n  ret i32 %1\n  call void @f(<8 x i16> %0)\n}\n"
        ),
        "define i32 @__cell_main(<4 x i32> %0) #0 {\n  \
         %cellworks.0 = call <4 x i32> @llvm.bswap.v4i32(<4 x i32> %0)\n  \
         %cellworks.1 = bitcast <4 x i32> %cellworks.0 to <8 x i16>\n  \
         %cellworks.2 = call <8 x i16> @llvm.bswap.v8i16(<8 x i16> %cellworks.1)\n  \
         ret i32 %1\n  call void @f(<8 x i16> %cellworks.2)\n}\n\
         declare <4 x i32> @llvm.bswap.v4i32(<4 x i32>)\n\
         declare <8 x i16> @llvm.bswap.v8i16(<8 x i16>)\n"
    );
}

#[test]
fn arguments_are_not_asked_for_in_registers() {
    let big = module(
        "define void @f(i32 inreg noundef %0) {\n  call void @g(i32 inreg 1)\n  ret void\n}\n",
    );
    assert_eq!(
        big,
        "define void @f(i32 noundef %0) {\n  call void @g(i32 1)\n  ret void\n}\n"
    );
}

#[test]
fn an_intrinsic_function_is_declared_once() {
    let big = module(
        "declare i32 @llvm.bswap.i32(i32) #1\n\
         define i32 @f(ptr %p) {\n  %1 = load i32, ptr %p, align 4\n  ret i32 %1\n}\n",
    );
    assert_eq!(
        big.matches("declare i32 @llvm.bswap.i32(i32").count(),
        1,
        "{big}"
    );
}

#[test]
fn assembler_of_a_module_is_refused() {
    let error = rewrite("module asm \"nop\"\n")
        .expect_err("assembler")
        .to_string();
    assert!(
        error.contains("line 1") && error.contains("module asm \"nop\""),
        "{error}"
    );
}

#[test]
fn labels_comments_and_metadata_stay() {
    let ir = "; a comment\n\
              source_filename = \"main.c\"\n\
              $inline = comdat any\n\
              define void @f() !dbg !3 {\n\
              entry:\n  br label %4\n\n\
              4:                      ; preds = %entry\n    #dbg_value(i32 1, !2, !DIExpression(), !3)\n  \
              ret void\n}\n\
              !llvm.ident = !{!0}\n\
              !0 = !{!\"@main\"}\n";
    assert_eq!(module(ir), ir);
}

#[test]
fn each_thread_has_its_own_variable() {
    let big = module(
        "@a = internal thread_local(localexec) global i32 1, align 4\n\
         @b = external thread_local global [2 x float], align 16\n\
         define ptr @f() {\n\
         \x20 %1 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @a)\n\
         \x20 %2 = call align 16 ptr @llvm.threadlocal.address.p0(ptr align 16 @b), !dbg !3\n\
         \x20 ret ptr %2\n\
         }\n",
    );
    assert_eq!(
        big,
        "@a = internal global i32 16777216, align 4\n\
         @b = external global [2 x float], align 16\n\
         define ptr @f() {\n\
         \x20 %1 = call ptr @__cell_thread_local(ptr @a, i32 ptrtoint (ptr getelementptr (i32, ptr null, \
         i32 1) to i32), i32 4)\n\
         \x20 %2 = call ptr @__cell_thread_local(ptr @b, i32 ptrtoint (ptr getelementptr ([2 x float], ptr null, \
         i32 1) to i32), i32 16), !dbg !3\n\
         \x20 ret ptr %2\n\
         }\n\
         declare ptr @__cell_thread_local(ptr, i32, i32)\n"
    );
}

#[test]
fn what_a_module_defines_is_not_declared() {
    let big = module(
        "@a = internal thread_local global i32 1, align 4\n\
         define ptr @__cell_thread_local(ptr %p, i32 %n, i32 %a) {\n\
         \x20 %1 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @a)\n\
         \x20 ret ptr %1\n\
         }\n",
    );
    assert!(!big.contains("declare"), "{big}");
}
