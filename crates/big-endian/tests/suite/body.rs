//! Instructions.

use crate::{body, body_with_registers, function, refusal, unoptimised_body};

#[test]
fn a_number_is_turned_round_when_it_is_read_and_written() {
    for (ty, bits) in [("i16", 16), ("i32", 32), ("i64", 64)] {
        assert_eq!(
            body(&[
                &format!("%1 = load {ty}, ptr %p, align 2, !tbaa !3"),
                &format!("store volatile {ty} %1, ptr %q, align 2"),
            ]),
            [
                format!("%cellworks.0 = load {ty}, ptr %p, align 2, !tbaa !3"),
                format!("%1 = call {ty} @llvm.bswap.i{bits}({ty} %cellworks.0)"),
                format!("%cellworks.2 = call {ty} @llvm.bswap.i{bits}({ty} %1)"),
                format!("store volatile {ty} %cellworks.2, ptr %q, align 2"),
            ]
        );
    }
}

#[test]
fn a_volatile_word_may_be_a_register() {
    assert_eq!(
        body_with_registers(&[
            "%1 = load volatile i32, ptr %p, align 4, !dbg !3, !tbaa !4",
            "store volatile i32 %1, ptr %q, align 4, !dbg !5",
            "store volatile i32 7, ptr %q, align 4",
            "%2 = load volatile ptr, ptr %p, align 4",
            "store volatile ptr %2, ptr %q, align 4",
        ]),
        [
            "%1 = call i32 @__cell_load_volatile(ptr %p), !dbg !3",
            "call void @__cell_store_volatile(ptr %q, i32 %1), !dbg !5",
            "call void @__cell_store_volatile(ptr %q, i32 7)",
            "%cellworks.1 = call i32 @__cell_load_volatile(ptr %p)",
            "%2 = inttoptr i32 %cellworks.1 to ptr",
            "%cellworks.3 = ptrtoint ptr %2 to i32",
            "call void @__cell_store_volatile(ptr %q, i32 %cellworks.3)",
        ]
    );
    // A number of 64 bits is two registers.
    assert_eq!(
        body_with_registers(&[
            "%1 = load volatile i64, ptr %p, align 8, !dbg !3",
            "store volatile i64 %1, ptr %q, align 8, !dbg !5",
        ]),
        [
            "%cellworks.0 = call i32 @__cell_load_volatile(ptr %p), !dbg !3",
            "%cellworks.1 = getelementptr i8, ptr %p, i32 4",
            "%cellworks.2 = call i32 @__cell_load_volatile(ptr %cellworks.1), !dbg !3",
            "%cellworks.3 = zext i32 %cellworks.0 to i64",
            "%cellworks.4 = zext i32 %cellworks.2 to i64",
            "%cellworks.5 = shl i64 %cellworks.3, 32",
            "%1 = or i64 %cellworks.5, %cellworks.4",
            "%cellworks.7 = lshr i64 %1, 32",
            "%cellworks.8 = trunc i64 %cellworks.7 to i32",
            "%cellworks.9 = trunc i64 %1 to i32",
            "call void @__cell_store_volatile(ptr %q, i32 %cellworks.8), !dbg !5",
            "%cellworks.10 = getelementptr i8, ptr %q, i32 4",
            "call void @__cell_store_volatile(ptr %cellworks.10, i32 %cellworks.9), !dbg !5",
        ]
    );
    // What is not volatile, has another width, is atomic, or is a variable is in memory.
    let memory = [
        "%1 = load i32, ptr %p, align 4",
        "%2 = load volatile i16, ptr %p, align 2",
        "%4 = load atomic i32, ptr %p seq_cst, align 4",
        "%5 = load volatile i32, ptr @variable, align 4",
        "store volatile double 1.0, ptr %q, align 8",
        "%6 = alloca i32, align 4",
        "store volatile i32 1, ptr %6, align 4",
    ];
    assert_eq!(body_with_registers(&memory), body(&memory));
}

#[test]
fn without_optimisation_each_access_of_memory_is_volatile() {
    assert_eq!(
        unoptimised_body(&[
            "%1 = alloca i32, align 4",
            "store i32 %n, ptr %1, align 4",
            "%2 = load i32, ptr %1, align 4",
            "%3 = load i32, ptr %p, align 4",
            "%4 = load i8, ptr @variable, align 1",
            "store i8 %4, ptr %q, align 1",
            "store i16 7, ptr %q, align 2",
            "%5 = load volatile i32, ptr %p, align 4",
        ]),
        [
            "%1 = alloca i32, align 4",
            "store i32 %n, ptr %1, align 4",
            "%2 = load i32, ptr %1, align 4",
            "%cellworks.0 = load volatile i32, ptr %p, align 4",
            "%3 = call i32 @llvm.bswap.i32(i32 %cellworks.0)",
            "%4 = load volatile i8, ptr @variable, align 1",
            "store volatile i8 %4, ptr %q, align 1",
            "%cellworks.2 = call i16 @llvm.bswap.i16(i16 7)",
            "store volatile i16 %cellworks.2, ptr %q, align 2",
            "%5 = call i32 @__cell_load_volatile(ptr %p)",
        ]
    );
}

#[test]
fn numbers_with_a_point_and_pointers_are_integers_in_memory() {
    assert_eq!(
        body(&[
            "%1 = load double, ptr %p, align 8",
            "store float 1.5, ptr %q, align 4"
        ]),
        [
            "%cellworks.0 = load i64, ptr %p, align 8",
            "%cellworks.1 = call i64 @llvm.bswap.i64(i64 %cellworks.0)",
            "%1 = bitcast i64 %cellworks.1 to double",
            "%cellworks.3 = bitcast float 1.5 to i32",
            "%cellworks.4 = call i32 @llvm.bswap.i32(i32 %cellworks.3)",
            "store i32 %cellworks.4, ptr %q, align 4",
        ]
    );
    assert_eq!(
        body(&[
            "%1 = load ptr, ptr @a, align 4",
            "store ptr @f, ptr getelementptr (i8, ptr @a, i32 4)"
        ]),
        [
            "%cellworks.0 = load i32, ptr @a, align 4",
            "%cellworks.1 = call i32 @llvm.bswap.i32(i32 %cellworks.0)",
            "%1 = inttoptr i32 %cellworks.1 to ptr",
            "%cellworks.3 = ptrtoint ptr @f to i32",
            "%cellworks.4 = call i32 @llvm.bswap.i32(i32 %cellworks.3)",
            "store i32 %cellworks.4, ptr getelementptr (i8, ptr @a, i32 4)",
        ]
    );
}

#[test]
fn a_vector_is_turned_round_in_each_lane() {
    assert_eq!(
        body(&[
            "%1 = load <4 x float>, ptr %p, align 16",
            "store <2 x i16> %n, ptr %p, align 4"
        ]),
        [
            "%cellworks.0 = load <4 x i32>, ptr %p, align 16",
            "%cellworks.1 = call <4 x i32> @llvm.bswap.v4i32(<4 x i32> %cellworks.0)",
            "%1 = bitcast <4 x i32> %cellworks.1 to <4 x float>",
            "%cellworks.3 = call <2 x i16> @llvm.bswap.v2i16(<2 x i16> %n)",
            "store <2 x i16> %cellworks.3, ptr %p, align 4",
        ]
    );
}

#[test]
fn bytes_stay() {
    let lines = [
        "%1 = load i8, ptr %p, align 1, !range !4",
        "%2 = load <16 x i8>, ptr %p, align 16",
        "store <16 x i8> %2, ptr %q, align 16",
        "call void @llvm.memcpy.p0.p0.i32(ptr align 8 %p, ptr align 8 %q, i32 24, i1 false)",
    ];
    assert_eq!(body(&lines), lines);
}

#[test]
fn three_bytes_are_a_number_too() {
    assert_eq!(
        body(&["%1 = load i24, ptr %p, align 1"]),
        [
            "%cellworks.0 = load i24, ptr %p, align 1",
            "%cellworks.1 = zext i24 %cellworks.0 to i32",
            "%cellworks.2 = call i32 @llvm.bswap.i32(i32 %cellworks.1)",
            "%cellworks.3 = lshr i32 %cellworks.2, 8",
            "%1 = trunc i32 %cellworks.3 to i24",
        ]
    );
}

#[test]
fn what_is_known_of_the_value_is_not_said_of_its_turned_bytes() {
    assert_eq!(
        body(&["%1 = load i32, ptr %p, align 4, !tbaa !1, !range !2, !noundef !3, !dbg !4"])[0],
        "%cellworks.0 = load i32, ptr %p, align 4, !tbaa !1, !dbg !4"
    );
}

#[test]
fn parts_of_structures_are_turned_round_one_by_one() {
    assert_eq!(
        body(&["%1 = load { ptr, [2 x i8] }, ptr %p, align 4"]),
        [
            "%cellworks.0 = getelementptr { ptr, [2 x i8] }, ptr %p, i32 0, i32 0",
            "%cellworks.1 = load i32, ptr %cellworks.0, align 1",
            "%cellworks.2 = call i32 @llvm.bswap.i32(i32 %cellworks.1)",
            "%cellworks.3 = inttoptr i32 %cellworks.2 to ptr",
            "%cellworks.4 = insertvalue { ptr, [2 x i8] } poison, ptr %cellworks.3, 0",
            "%cellworks.5 = getelementptr { ptr, [2 x i8] }, ptr %p, i32 0, i32 1, i32 0",
            "%cellworks.6 = load i8, ptr %cellworks.5, align 1",
            "%cellworks.7 = insertvalue { ptr, [2 x i8] } %cellworks.4, i8 %cellworks.6, 1, 0",
            "%cellworks.8 = getelementptr { ptr, [2 x i8] }, ptr %p, i32 0, i32 1, i32 1",
            "%cellworks.9 = load i8, ptr %cellworks.8, align 1",
            "%1 = insertvalue { ptr, [2 x i8] } %cellworks.7, i8 %cellworks.9, 1, 1",
        ]
    );
    assert_eq!(
        body(&["store { i32, i8 } %n, ptr %p, align 4"]),
        [
            "%cellworks.0 = extractvalue { i32, i8 } %n, 0",
            "%cellworks.1 = getelementptr { i32, i8 }, ptr %p, i32 0, i32 0",
            "%cellworks.2 = call i32 @llvm.bswap.i32(i32 %cellworks.0)",
            "store i32 %cellworks.2, ptr %cellworks.1, align 1",
            "%cellworks.3 = extractvalue { i32, i8 } %n, 1",
            "%cellworks.4 = getelementptr { i32, i8 }, ptr %p, i32 0, i32 1",
            "store i8 %cellworks.3, ptr %cellworks.4, align 1",
        ]
    );
}

#[test]
fn a_constant_vector_of_another_width_has_the_same_bytes() {
    for (constant, same) in [
        (
            "<16 x i8> bitcast (<4 x i32> <i32 66051, i32 -2, i32 0, i32 1> to <16 x i8>)",
            "<16 x i8> <i8 0, i8 1, i8 2, i8 3, i8 255, i8 255, i8 255, i8 254, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 0, i8 1>",
        ),
        (
            "<8 x i16> bitcast (<4 x i32> splat (i32 65538) to <8 x i16>)",
            "<8 x i16> <i16 1, i16 2, i16 1, i16 2, i16 1, i16 2, i16 1, i16 2>",
        ),
        (
            "<2 x i64> bitcast (<4 x float> <float 1.5, float 0xC000000000000000, float 0.0, float 0x7FF8000000000000> to <2 x i64>)",
            "<2 x i64> <i64 4593671623139131392, i64 2143289344>",
        ),
        (
            "<4 x float> bitcast (<2 x i64> <i64 4593671623139131392, i64 4290772992> to <4 x float>)",
            "<4 x float> <float 0x3FF8000000000000, float 0xC000000000000000, float 0x0000000000000000, float 0xFFF8000000000000>",
        ),
        (
            "<2 x double> bitcast (<4 x i32> <i32 1072693248, i32 0, i32 0, i32 1> to <2 x double>)",
            "<2 x double> <double 0x3FF0000000000000, double 0x0000000000000001>",
        ),
    ] {
        assert_eq!(
            body(&[
                &format!("%1 = phi {constant}, %2")[..],
                &format!("call void @g({constant}, {constant})")
            ]),
            [
                format!("%1 = phi {same}, %2"),
                format!("call void @g({same}, {same})")
            ]
        );
    }
}

#[test]
fn a_cast_to_another_width_goes_through_the_bytes_in_memory() {
    let lines = ["%1 = bitcast <4 x float> %v to <4 x i32>, !dbg !3"];
    assert_eq!(body(&lines), lines);
    assert_eq!(
        body(&["%1 = bitcast <2 x i32> %v to i64, !dbg !3"]),
        [
            "%cellworks.0 = call <2 x i32> @llvm.bswap.v2i32(<2 x i32> %v)",
            "%cellworks.1 = bitcast <2 x i32> %cellworks.0 to i64",
            "%1 = call i64 @llvm.bswap.i64(i64 %cellworks.1)",
        ]
    );
    // Bytes need not be turned.
    assert_eq!(
        body(&[
            "%1 = bitcast i32 %n to <4 x i8>",
            "%2 = bitcast <4 x i8> %1 to i32"
        ]),
        [
            "%cellworks.0 = call i32 @llvm.bswap.i32(i32 %n)",
            "%1 = bitcast i32 %cellworks.0 to <4 x i8>",
            "%cellworks.2 = bitcast <4 x i8> %1 to i32",
            "%2 = call i32 @llvm.bswap.i32(i32 %cellworks.2)",
        ]
    );
}

#[test]
fn a_variable_that_is_only_read_and_written_whole_stays() {
    let lines = [
        "%1 = alloca float, align 4",
        "call void @llvm.lifetime.start.p0(ptr nonnull %1) #5",
        "  #dbg_declare(ptr %1, !26, !DIExpression(), !38)",
        "store volatile float 1.0, ptr %1, align 4",
        "%2 = load float, ptr %1, align 4",
    ];
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    assert_eq!(body(&lines), trimmed);
}

#[test]
fn words_that_clang_20_to_22_add_stay() {
    let lines = [
        "%1 = alloca i32, align 4",
        "call void @llvm.lifetime.start.p0(ptr %1) #3, !dbg !40",
        "store i32 3, ptr %1, align 4",
        "%2 = getelementptr inbounds nuw i8, ptr %p, i32 4, !dbg !188",
        "%3 = icmp samesign ult i32 %n, 5",
        "%4 = mul <4 x i32> %m, splat (i32 3)",
        "call void @g(ptr captures(none) %2)",
    ];
    assert_eq!(body(&lines), lines);
}

#[test]
fn a_variable_whose_address_is_used_is_turned_round() {
    let uses = [
        "call void @g(ptr %1)",
        "store ptr %1, ptr %p, align 4",
        "store ptr %1, ptr %1, align 4",
        "%3 = load i16, ptr %1, align 4",
        "%3 = getelementptr i8, ptr %1, i32 1",
        "%3 = load atomic ptr, ptr %1 seq_cst, align 4",
    ];
    for line in uses {
        let body = body(&[
            "%1 = alloca ptr, align 4",
            "%2 = load ptr, ptr %1, align 4",
            line,
        ]);
        assert_eq!(
            body[1], "%cellworks.0 = load i32, ptr %1, align 4",
            "{line}"
        );
    }
}

#[test]
fn arguments_after_the_named_ones_lie_in_memory() {
    assert_eq!(
        body(&[
            "%1 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef signext 7, double 1.0, \
             ptr noundef byval(%struct.S) align 8 %q, ptr noundef %p, i32 range(i32 0, 2) %n) #6, \
             !dbg !3"
        ]),
        [
            "%cellworks.0 = call i32 @llvm.bswap.i32(i32 7)",
            "%cellworks.1 = zext i32 %cellworks.0 to i64",
            "%cellworks.2 = bitcast double 1.0 to i64",
            "%cellworks.3 = call i64 @llvm.bswap.i64(i64 %cellworks.2)",
            "%cellworks.4 = ptrtoint ptr %p to i32",
            "%cellworks.5 = call i32 @llvm.bswap.i32(i32 %cellworks.4)",
            "%cellworks.6 = zext i32 %cellworks.5 to i64",
            "%cellworks.7 = call i32 @llvm.bswap.i32(i32 %n)",
            "%cellworks.8 = zext i32 %cellworks.7 to i64",
            "%1 = call i32 (ptr, i128, float, ...) @printf(ptr noundef @.str, i128 zeroinitializer, \
             float zeroinitializer, i64 %cellworks.1, i64 %cellworks.3, ptr noundef byval(%struct.S) align 8 %q, i32 0, i64 %cellworks.6, i64 %cellworks.8) \
             nobuiltin #6, !dbg !3",
        ]
    );
    // A pointer to a function is called in the same way.
    assert_eq!(
        body(&["call void (i32, ...) %p(i32 1, i32 2)"]),
        [
            "%cellworks.0 = call i32 @llvm.bswap.i32(i32 2)",
            "%cellworks.1 = zext i32 %cellworks.0 to i64",
            "call void (i32, i128, float, ...) %p(i32 1, i128 zeroinitializer, float zeroinitializer, \
             i64 %cellworks.1) nobuiltin",
        ]
    );
    // Without a prototype they are passed as named ones.
    let lines = ["call void %p(i32 1, i32 2)"];
    assert_eq!(body(&lines), lines);
    let lines = ["%1 = call %struct.S @g(i32 noundef 7) #3"];
    assert_eq!(body(&lines), lines);
}

#[test]
fn the_optimiser_writes_nothing_in_place_of_the_library() {
    assert_eq!(
        body(&[
            "%1 = call i32 @strtol(ptr noundef @.str, ptr noundef %p, i32 noundef 10) #4, !dbg !3"
        ]),
        [
            "%1 = call i32 @strtol(ptr noundef @.str, ptr noundef %p, i32 noundef 10) nobuiltin #4, \
             !dbg !3"
        ]
    );
    let lines = ["%1 = call i32 @strlen(ptr noundef %p) #4"];
    assert_eq!(body(&lines), lines);
}

#[test]
fn the_list_of_arguments_has_its_address_in_the_order_of_memory() {
    assert_eq!(
        body(&["call void @llvm.va_start.p0(ptr noundef %p) #6"]),
        [
            "call void @llvm.va_start.p0(ptr noundef %p) #6",
            "%cellworks.0 = load ptr, ptr %p, align 4",
            "%cellworks.1 = ptrtoint ptr %cellworks.0 to i32",
            "%cellworks.2 = call i32 @llvm.bswap.i32(i32 %cellworks.1)",
            "store i32 %cellworks.2, ptr %p, align 4",
        ]
    );
}

#[test]
fn what_is_atomic_is_read_computed_and_written() {
    assert_eq!(
        body(&["%1 = atomicrmw add ptr %p, i32 %n seq_cst, align 4"]),
        [
            "%cellworks.0 = load volatile i32, ptr %p, align 4",
            "%1 = call i32 @llvm.bswap.i32(i32 %cellworks.0)",
            "%cellworks.2 = add i32 %1, %n",
            "%cellworks.3 = call i32 @llvm.bswap.i32(i32 %cellworks.2)",
            "store volatile i32 %cellworks.3, ptr %p, align 4",
        ]
    );
    assert_eq!(
        body(&[
            "%1 = atomicrmw volatile umax ptr %p, i8 3 syncscope(\"singlethread\") monotonic, align 1"
        ]),
        [
            "%1 = load volatile i8, ptr %p, align 1",
            "%cellworks.1 = icmp ugt i8 %1, 3",
            "%cellworks.2 = select i1 %cellworks.1, i8 %1, i8 3",
            "store volatile i8 %cellworks.2, ptr %p, align 1",
        ]
    );
    assert_eq!(
        body(&["%1 = atomicrmw xchg ptr %p, ptr %q acquire, align 4"])[3..],
        [
            "%cellworks.3 = ptrtoint ptr %q to i32",
            "%cellworks.4 = call i32 @llvm.bswap.i32(i32 %cellworks.3)",
            "store volatile i32 %cellworks.4, ptr %p, align 4",
        ]
    );
    assert_eq!(
        body(&["%1 = atomicrmw nand ptr %p, i8 1 seq_cst, align 1"])[1..3],
        [
            "%cellworks.1 = and i8 %1, 1",
            "%cellworks.2 = xor i8 %cellworks.1, -1"
        ]
    );
    assert_eq!(
        body(&["%1 = cmpxchg weak ptr %p, i8 1, i8 2 acq_rel monotonic, align 1"]),
        [
            "%cellworks.0 = load volatile i8, ptr %p, align 1",
            "%cellworks.1 = icmp eq i8 %cellworks.0, 1",
            "%cellworks.2 = select i1 %cellworks.1, i8 2, i8 %cellworks.0",
            "store volatile i8 %cellworks.2, ptr %p, align 1",
            "%cellworks.3 = insertvalue { i8, i1 } poison, i8 %cellworks.0, 0",
            "%1 = insertvalue { i8, i1 } %cellworks.3, i1 %cellworks.1, 1",
        ]
    );
    assert_eq!(
        body(&[
            "%1 = load atomic i16, ptr %p acquire, align 2",
            "store atomic volatile i8 1, ptr %q seq_cst, align 1",
            "fence syncscope(\"singlethread\") seq_cst",
        ]),
        [
            "%cellworks.0 = load volatile i16, ptr %p, align 2",
            "%1 = call i16 @llvm.bswap.i16(i16 %cellworks.0)",
            "store volatile i8 1, ptr %q, align 1",
            "call void asm sideeffect \"\", \"~{memory}\"()",
        ]
    );
}

#[test]
fn an_atomic_operation_that_is_not_known_is_refused() {
    let line = "%1 = atomicrmw uinc_wrap ptr %p, i32 %n seq_cst, align 4";
    assert_eq!(
        refusal(&[line]),
        format!(
            "line 2 of the program's IR has a form that `cellworks cc` does not know ({line}); please \
             report it"
        )
    );
}

#[test]
fn barriers_and_the_time_base_are_read_in_assembler() {
    let empty = "call void asm sideeffect \"\", \"~{memory}\"() #5, !srcloc !9";
    assert_eq!(body(&[empty]), [empty]);
    let sync = "call void asm sideeffect \" sync \", \"~{memory}\"() #5, !srcloc !9";
    assert_eq!(body(&[sync]), [empty]);
    assert_eq!(
        refusal(&["%1 = call i32 asm sideeffect \"mfcr $0\", \"=r\"() #5"]),
        "function `f` has inline assembler (\"mfcr $0\"), which cannot be translated; barriers and \
         hints (`sync`, `nop`, `dcbt`, `hbrr`) can, on the PPU `mftb` and `dcbz`, and on an SPU `stop`, \
         and `rdch`, `wrch` and `rchcnt` of mailboxes, signals and the decrementer; the intrinsics of \
         the Cell's headers do the rest"
    );
    let module = "define i32 @f() {\n  %1 = call i32 asm sideeffect \"stop 7\", \"=r\"(), !dbg !4, !srcloc !5\n  ret i32 %1\n}\n\
                  !4 = !DILocation(line: 12, column: 3, scope: !1)\n";
    let said = cellworks_big_endian::rewrite(module)
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("in line 12: function `f` has inline assembler"),
        "{said}"
    );
    assert_eq!(
        body(&[
            "%1 = call i64 asm sideeffect \"mftb $0\", \"=r,~{memory}\"() #5, !srcloc !9",
            "%2 = call i32 asm sideeffect \"mftbu $0\", \"=r\"() #5",
            "%3 = call i32 asm \"mfspr $0, 268\", \"=r\"() #5",
        ]),
        [
            "%cellworks.0 = call i64 @ppu.timebase()",
            "%1 = add i64 %cellworks.0, 0",
            "%cellworks.1 = call i64 @ppu.timebase()",
            "%cellworks.2 = lshr i64 %cellworks.1, 32",
            "%2 = trunc i64 %cellworks.2 to i32",
            "%cellworks.3 = call i64 @ppu.timebase()",
            "%3 = trunc i64 %cellworks.3 to i32",
        ]
    );
    assert_eq!(
        body(&["%1 = call i16 asm sideeffect \"mftb $0\", \"=r\"() #5"]),
        [
            "%cellworks.0 = call i64 @ppu.timebase()",
            "%1 = trunc i64 %cellworks.0 to i16",
        ]
    );
    refusal(&["%1 = call i64 asm sideeffect \"mftb $0\", \"=r,r\"(i32 7) #5"]);
    refusal(&["call void asm sideeffect \"sync\", \"r\"(i32 %n)"]);
    refusal(&["call void asm sideeffect \"\", \"*m\"(ptr elementtype(i32) %p)"]);
}

#[test]
fn a_loop_that_reads_both_words_of_the_time_base_is_one_read() {
    let template = "0: mftbu $0\\0A\\09mftb  $1\\0A mftbu $2 # again\\0A cmpw $0, $2; bne- 0b\\0A";
    let line = |template: &str| {
        format!(
            "%1 = call {{ i32, i32, i32 }} asm sideeffect \"{template}\", \"=r,=r,=&r\"() #5, !dbg !9"
        )
    };
    assert_eq!(
        body(&[&line(template)]),
        [
            "%cellworks.0 = call i64 @ppu.timebase()",
            "%cellworks.1 = lshr i64 %cellworks.0, 32",
            "%cellworks.2 = trunc i64 %cellworks.1 to i32",
            "%cellworks.3 = insertvalue { i32, i32, i32 } poison, i32 %cellworks.2, 0",
            "%cellworks.4 = trunc i64 %cellworks.0 to i32",
            "%cellworks.5 = insertvalue { i32, i32, i32 } %cellworks.3, i32 %cellworks.4, 1",
            "%cellworks.6 = lshr i64 %cellworks.0, 32",
            "%cellworks.7 = trunc i64 %cellworks.6 to i32",
            "%1 = insertvalue { i32, i32, i32 } %cellworks.5, i32 %cellworks.7, 2",
        ]
    );
    // A variable that is not read, one that is read twice, and another instruction.
    refusal(&[&line("mftbu $0; mftb $1")]);
    refusal(&[&line("mftbu $0; mftb $1; mftbu $1")]);
    refusal(&[&line("mftbu $0; mftb $1; mftbu $2; addi $1,$1,1")]);
}

#[test]
fn hints_of_assembler_are_barriers() {
    let barrier = "call void asm sideeffect \"\", \"~{memory}\"()";
    for hint in [
        "call void asm sideeffect \"dcbt 0,$0\", \"r\"(ptr %p) #5",
        "call void asm sideeffect \"dcbf $0,$1; dcbst 0,$1\", \"b,r\"(i32 %n, ptr %p) #5",
        "call void asm sideeffect \"hbrr 1f,0f\\0A 1:\\0A 0:\", \"\"() #5",
    ] {
        assert_eq!(body(&[hint]), [barrier], "{hint}");
    }
    let several =
        "call void asm sideeffect \" syncc; sync \\0A\\09 dsync # all\", \"~{memory}\"() #5";
    assert_eq!(body(&[several]), [format!("{barrier} #5")]);
    let comment = "%1 = call i32 asm sideeffect \"# keep $0\", \"=r,0\"(i32 %n) #5";
    assert_eq!(
        body(&[comment]),
        ["%1 = call i32 asm sideeffect \"\", \"=r,0\"(i32 %n) #5"]
    );
}

#[test]
fn a_register_that_a_program_names_is_any() {
    for (constraints, any) in [
        ("={r5},{r5},~{memory}", "=r,r,~{memory}"),
        ("=&{r3},=f,0,b,i", "=&r,=r,0,r,r"),
        ("~{cr0}", "~{cr0}"),
        ("", ""),
    ] {
        let line =
            |constraints| format!("call void asm sideeffect \"\", \"{constraints}\"(i32 %n)");
        assert_eq!(body(&[&line(constraints)]), [line(any)]);
    }
}

#[test]
fn a_line_of_memory_is_cleared_by_assembler() {
    assert_eq!(
        body(&[
            "call void asm sideeffect \"dcbz 0,$0\", \"r,~{memory}\"(ptr %p) #5, !dbg !3, !srcloc !4",
            "call void asm sideeffect \"dcbz 0, $0\", \"r\"(i32 %n) #5",
        ]),
        [
            "%cellworks.0 = ptrtoint ptr %p to i32",
            "%cellworks.1 = and i32 %cellworks.0, -128",
            "%cellworks.2 = inttoptr i32 %cellworks.1 to ptr",
            "call void @llvm.memset.p0.i32(ptr %cellworks.2, i8 0, i32 128, i1 false), !dbg !3",
            "%cellworks.3 = and i32 %n, -128",
            "%cellworks.4 = inttoptr i32 %cellworks.3 to ptr",
            "call void @llvm.memset.p0.i32(ptr %cellworks.4, i8 0, i32 128, i1 false)",
        ]
    );
    refusal(&["call void asm sideeffect \"dcbz $0,$1\", \"b,r\"(i32 %n, ptr %p)"]);
}

#[test]
fn channels_and_stops_of_an_spu_are_imports_in_assembler() {
    assert_eq!(
        body(&[
            "%1 = call i32 asm sideeffect \"rdch $0,$$ch29\", \"=r\"() #5, !dbg !3, !srcloc !4",
            "%2 = call i32 asm sideeffect \"rchcnt $0, $$ch3\", \"=r\"() #5",
            "call void asm sideeffect \"wrch $$ch28,$0\", \"r\"(i32 %n) #5, !dbg !3",
            "call void asm sideeffect \"stop 0x11\", \"~{memory}\"() #5, !dbg !3",
            "call void asm sideeffect \"stop\", \"\"() #5",
            "%3 = call i8 asm sideeffect \"rdch $0,$$ch29\", \"=r\"() #5, !dbg !3",
            "call void asm sideeffect \"wrch $$ch28,$0\", \"r\"(i16 %h) #5, !dbg !3",
        ]),
        [
            "%1 = call i32 @spu.rdch(i32 29), !dbg !3",
            "%2 = call i32 @spu.rchcnt(i32 3)",
            "call void @spu.wrch(i32 28, i32 %n), !dbg !3",
            "call void @spu.stop(i32 17), !dbg !3",
            "call void @spu.stop(i32 0)",
            "%cellworks.0 = call i32 @spu.rdch(i32 29), !dbg !3",
            "%3 = trunc i32 %cellworks.0 to i8",
            "%cellworks.1 = zext i16 %h to i32",
            "call void @spu.wrch(i32 28, i32 %cellworks.1), !dbg !3",
        ]
    );
    for line in [
        // The program knows the tag mask and the commands.
        "call void asm sideeffect \"wrch $$ch22,$0\", \"r\"(i32 %n)",
        "%1 = call i32 asm sideeffect \"rdch $0,$$ch24\", \"=r\"()",
        "%1 = call <4 x i32> asm sideeffect \"rdch $0,$$ch8\", \"=r\"()",
        "%1 = call i64 asm sideeffect \"rdch $0,$$ch29\", \"=r\"()",
        "call void asm sideeffect \"wrch $$ch28,$0\", \"r\"(i64 %n)",
        "%1 = call i32 asm sideeffect \"rdch $0,$$ch32\", \"=r\"()",
        "call void asm sideeffect \"stop 0x4000\", \"\"()",
        "call void asm sideeffect \"stop 1; .word 7\", \"\"()",
        "%1 = call i32 @llvm.read_register.i32(metadata !4)",
    ] {
        assert!(refusal(&[line]).contains("has inline assembler"), "{line}");
    }
}

#[test]
fn what_og_keeps_for_a_debugger_is_left_out() {
    assert_eq!(
        body(&["notail call void (...) @llvm.fake.use(ptr %p) #12"]),
        [""; 0]
    );
}

#[test]
fn instructions_of_the_powerpc_are_refused_by_name() {
    assert_eq!(
        refusal(&["%1 = call i32 @llvm.ppc.altivec.vcmpgtsw.p(i32 2, <4 x i32> %a, <4 x i32> %b)"]),
        "function `f` uses `llvm.ppc.altivec.vcmpgtsw.p`, an instruction of the PowerPC that cannot \
         be translated; whole vectors are compared by vec_cmpgt, spu_cmpgt and the like, not by > or =="
    );
}

#[test]
fn another_rounding_is_refused() {
    assert_eq!(
        refusal(&[
            "%1 = call float @llvm.experimental.constrained.fadd.f32(float 1.0, float 2.0, \
                   metadata !\"round.dynamic\", metadata !\"fpexcept.strict\")"
        ]),
        "function `f` changes how numbers are rounded (by `#pragma STDC FENV_ACCESS` or \
         -frounding-math), and WebAssembly always rounds to the nearest; remove the pragma or flag"
    );
}

#[test]
fn what_touches_memory_in_an_unknown_way_is_refused() {
    for line in [
        "%1 = load i1, ptr %p, align 1",
        "%1 = load half, ptr %p, align 2",
        "%1 = load <4 x i1>, ptr %p, align 1",
        "%1 = load <vscale x 4 x i32>, ptr %p, align 16",
        "%1 = load ppc_fp128, ptr %p, align 16",
        "%1 = load i32, ptr addrspace(3) %p, align 4",
        "%1 = load {}, ptr %p, align 1",
        "%1 = load %struct.Unknown, ptr %p, align 4",
        "store fp128 0xL0, ptr %p, align 16",
        "store { i32, half } %n, ptr %p, align 4",
        "%1 = va_arg ptr %p, i32",
        "%1 = bitcast <32 x i1> %v to i32",
        "%1 = add i32 bitcast (<4 x i8> <i8 1, i8 2, i8 3, i8 4> to i32), 1",
        "%1 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> %n)",
        "%1 = call { double, i32 } @llvm.frexp.f64.i32(double 1.0)",
        "%1 = call { float, float } @llvm.sincospi.f32(float 1.0)",
        "call void (i32, ...) @g(i32 1, { i32, i32 } %n)",
        "%1 = catchpad within %0 [ptr @t]",
        "%1 = brandnew i32 %n",
    ] {
        let refusal = refusal(&["%0 = add i32 %n, 1", line]);
        assert!(
            refusal.starts_with("line 3 of the program's IR has a form"),
            "{refusal}"
        );
        assert!(refusal.contains(line), "{refusal}");
    }
}

#[test]
fn jumps_and_arithmetic_stay() {
    let lines = [
        "br i1 %n, label %a, label %b",
        "switch i32 %n, label %a [",
        "  i32 1, label %b",
        "]",
        "%1 = phi ptr [ @f, %a ], [ null, %b ]",
        "%2 = fadd contract <4 x float> %n, splat (float 1.0)",
        "%3 = shufflevector <4 x i32> %n, <4 x i32> poison, <4 x i32> <i32 1, i32 2, i32 3, i32 0>",
        "%4 = call i32 @llvm.fshl.i32(i32 %n, i32 %n, i32 3)",
        "unreachable",
    ];
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    assert_eq!(body(&lines), trimmed);
}

#[test]
fn calls_that_end_the_program_stay_apart() {
    assert_eq!(
        body(&[
            "call void @abort() #4, !dbg !7",
            "tail call void @llvm.trap()"
        ]),
        [
            "call void @abort() nomerge #4, !dbg !7",
            "tail call void @llvm.trap() nomerge",
        ]
    );
}

#[test]
fn a_function_at_a_number_is_called() {
    let line = "%1 = call i32 inttoptr (i32 4096 to ptr)(i32 noundef %n) #3, !dbg !7";
    assert_eq!(body(&[line]), [line]);
    let line = "call void (i32, ...) inttoptr (i32 4096 to ptr)(i32 1, i32 2)";
    assert!(refusal(&[line]).starts_with("line 2 of"));
}

#[test]
fn a_pointer_to_a_function_of_a_class_is_virtual_below_the_first_function() {
    let pair = "%1 = extractvalue { i32, i32 } %p, 0, !dbg !3";
    assert_eq!(
        body(&[pair, "%2 = and i32 %1, 1, !dbg !3", "%3 = and i32 %1, 1"]),
        [
            pair,
            "%cellworks.0 = sub i32 %1, 1",
            "%cellworks.1 = icmp ult i32 %cellworks.0, 4098",
            "%2 = zext i1 %cellworks.1 to i32",
            "%3 = and i32 %1, 1",
        ]
    );
    for others in [
        [pair, "%2 = and i32 %1, 3"],
        [pair, "%2 = and i32 %n, 1"],
        ["%1 = extractvalue { i32, i32 } %p, 1", "%2 = and i32 %1, 1"],
        ["%1 = extractvalue { i32, i1 } %p, 0", "%2 = and i32 %1, 1"],
    ] {
        assert_eq!(body(&others), others);
    }
}

#[test]
fn a_call_that_may_throw_is_a_call_and_handlers_stay() {
    let handled = [
        "invoke void @g(ptr %p) nobuiltin",
        "to label %on unwind label %lpad, !dbg !3",
        "%1 = landingpad { ptr, i32 }",
        "cleanup",
        "catch ptr @_ZTIi",
        "filter [1 x ptr] [ptr @_ZTIi], !dbg !4",
        "%2 = call i32 @llvm.eh.typeid.for.p0(ptr @_ZTIi)",
        "resume { ptr, i32 } %1, !dbg !4",
    ];
    let mut lines = handled.map(|line| line.to_owned());
    for at in [1, 3, 4, 5] {
        lines[at] = format!("        {}", handled[at]);
    }
    assert_eq!(body(&lines.each_ref().map(String::as_str)), handled);
    // Arguments after the named ones are turned round, as in a call.
    assert_eq!(
        body(&[
            "%1 = invoke i32 (ptr, ...) @printf(ptr %p, i32 %n)",
            "        to label %on unwind label %lpad",
        ])[2..],
        [
            "%1 = invoke i32 (ptr, i128, float, ...) @printf(ptr %p, i128 zeroinitializer, float zeroinitializer, i64 \
             %cellworks.1) nobuiltin",
            "to label %on unwind label %lpad",
        ]
    );
}

#[test]
fn a_form_that_is_not_known_is_refused_with_the_line_of_c() {
    let ir = function(&["%1 = unknown ptr %p, !dbg !7"]);
    let ir = ir + "!7 = !DILocation(line: 12, column: 3, scope: !5)\n";
    let said = cellworks_big_endian::rewrite(&ir).unwrap_err().to_string();
    assert!(
        said.starts_with("in line 12: line 2 of the program's IR has"),
        "{said}"
    );
}

#[test]
fn memory_of_another_processor_is_reached_by_a_cache() {
    assert_eq!(
        body(&[
            "%1 = load volatile i32, ptr addrspace(1) %p, align 4, !dbg !7",
            "%2 = load ptr addrspace(1), ptr %q, align 4",
            "store ptr addrspace(1) %2, ptr addrspace(1) %2, align 4, !dbg !8",
            "%3 = getelementptr inbounds [2 x i32], ptr addrspace(1) %2, i32 1",
            "store <4 x i32> zeroinitializer, ptr addrspace(1) null, align 16",
            "call void @llvm.memcpy.p0.p1.i32(ptr align 4 %q, ptr addrspace(1) align 4 %p, i32 40, i1 false), !dbg !7",
            "call void @llvm.memset.p1.i32(ptr addrspace(1) align 4 %p, i8 0, i32 40, i1 false)",
        ]),
        [
            "%cellworks.fetched.0 = call ptr @__cell_fetch(ptr %p, i32 4) nomerge, !dbg !7",
            "%cellworks.0 = load volatile i32, ptr %cellworks.fetched.0, align 4, !dbg !7",
            "%1 = call i32 @llvm.bswap.i32(i32 %cellworks.0)",
            "%cellworks.2 = load i32, ptr %q, align 4",
            "%cellworks.3 = call i32 @llvm.bswap.i32(i32 %cellworks.2)",
            "%2 = inttoptr i32 %cellworks.3 to ptr",
            "%cellworks.fetched.1 = call ptr @__cell_fetch_dirty(ptr %2, i32 4) nomerge, !dbg !8",
            "%cellworks.5 = ptrtoint ptr %2 to i32",
            "%cellworks.6 = call i32 @llvm.bswap.i32(i32 %cellworks.5)",
            "store i32 %cellworks.6, ptr %cellworks.fetched.1, align 4, !dbg !8",
            "%3 = getelementptr inbounds [2 x i32], ptr %2, i32 1",
            "%cellworks.fetched.2 = call ptr @__cell_fetch_dirty(ptr null, i32 16) nomerge",
            "%cellworks.7 = call <4 x i32> @llvm.bswap.v4i32(<4 x i32> zeroinitializer)",
            "store <4 x i32> %cellworks.7, ptr %cellworks.fetched.2, align 16",
            "call void @__cell_copy_from_ea(ptr align 4 %q, ptr align 4 %p, i32 40, i1 false), !dbg !7",
            "call void @__cell_set_ea(ptr align 4 %p, i8 0, i32 40, i1 false)",
        ]
    );
}

#[test]
fn what_a_cache_cannot_do_is_refused() {
    for (line, part) in [
        (
            "%1 = addrspacecast ptr %p to ptr addrspace(1), !dbg !7",
            "in line 12: a pointer of __ea cannot become one of the local store",
        ),
        (
            "%1 = load atomic i32, ptr addrspace(1) %p seq_cst, align 4",
            "an atomic operation has no pointer of __ea",
        ),
        (
            "%1 = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst, align 4",
            "an atomic operation has no pointer of __ea",
        ),
    ] {
        let ir = function(&[line]) + "!7 = !DILocation(line: 12, column: 3, scope: !5)\n";
        let said = cellworks_big_endian::rewrite(&ir).unwrap_err().to_string();
        assert!(said.starts_with(part), "{said}");
    }
    let ir = "@x = external addrspace(1) global i32, align 4\n";
    let said = cellworks_big_endian::rewrite(ir).unwrap_err().to_string();
    assert!(said.contains("pass its address"), "{said}");
}
