//! Addresses in the data of a linked module.

use cellworks_big_endian::swap_pointers;

/// Returns a section with its length.
fn section(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).expect("a short section");
    [&[kind, length][..], body].concat()
}

/// Returns a custom section.
fn custom(name: &str, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(name.len()).expect("a short name");
    section(0, &[&[length][..], name.as_bytes(), body].concat())
}

const HEADER: &[u8] = b"\0asm\x01\0\0\0";

/// Returns a module whose data is `data` and whose relocations are `relocations`.
fn module(data: &[u8], relocations: &[u8]) -> Vec<u8> {
    [
        HEADER.to_vec(),
        section(11, data),
        custom("reloc.DATA", relocations),
        custom("linking", &[2]),
        custom("name", &[1, 2, 3]),
    ]
    .concat()
}

#[test]
fn addresses_are_turned_round_and_relocations_left_out() {
    let data = [9, 1, 2, 3, 4, 9, 5, 6, 7, 8];
    // An entry of the table at 1, and an address in memory with an addend at 6.
    let relocations = [0, 2, 2, 1, 0, 5, 6, 0, 0xff, 0x01];
    assert_eq!(
        swap_pointers(&module(&data, &relocations)).expect("a module"),
        [
            HEADER.to_vec(),
            section(11, &[9, 4, 3, 2, 1, 9, 8, 7, 6, 5]),
            custom("name", &[1, 2, 3])
        ]
        .concat()
    );
}

#[test]
fn relocations_of_code_stay_as_they_are() {
    let code = section(10, &[1, 2, 3, 4, 5]);
    let module = [
        HEADER.to_vec(),
        code.clone(),
        custom("reloc.CODE", &[0, 1, 0, 1, 0]),
    ]
    .concat();
    assert_eq!(
        swap_pointers(&module).expect("a module"),
        [HEADER.to_vec(), code].concat()
    );
}

#[test]
fn another_relocation_in_data_is_refused() {
    let error = swap_pointers(&module(&[0; 8], &[0, 1, 16, 0, 0, 0])).expect_err("64 bits");
    assert_eq!(
        error.to_string(),
        "the data of the linked module has a relocation of kind 16, which is not an address of 4 bytes"
    );
}

#[test]
fn a_damaged_module_is_refused_wherever_it_ends() {
    let whole = module(&[9, 1, 2, 3, 4], &[0, 1, 2, 1, 0]);
    assert!(swap_pointers(&whole).is_ok());
    let ends = [8, 8 + 2 + 5, 8 + 2 + 5 + 2 + 16, 8 + 2 + 5 + 2 + 16 + 2 + 9];
    for length in (0..whole.len()).filter(|length| !ends.contains(length)) {
        let error = swap_pointers(&whole[..length])
            .expect_err("too short")
            .to_string();
        assert!(
            error.starts_with("the linked module is damaged at byte "),
            "{error}"
        );
    }
}

#[test]
fn numbers_outside_the_module_are_refused() {
    for (relocations, message) in [
        // The section 9, of 4.
        (&[9, 1, 2, 1, 0][..], "at byte 28: the number of a section"),
        // 4 bytes at 6, of 8.
        (
            &[0, 1, 2, 6, 0],
            "at byte 30: the place of an address in data",
        ),
        (
            &[0, 1, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0],
            "at byte 30: the place of an address in data",
        ),
        (
            &[0, 1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            "at byte 31: a number of at most 5 bytes",
        ),
    ] {
        let error = swap_pointers(&module(&[0; 5], relocations))
            .expect_err(message)
            .to_string();
        assert!(error.contains(message), "{error} is not {message}");
    }
}
