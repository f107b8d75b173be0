//! `cellworks cc` and the tools of the Cell SDK as Makefiles and shells call them.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use skipped::skipped;

/// A shell in a folder of its own, whose PATH is that of `cellworks cc --env`.
struct Shell {
    folder: TempDir,
    /// The folder for what is compiled once.
    cache: PathBuf,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let cache = folder.path().to_owned();
        Self { folder, cache }
    }

    /// Returns a shell in which programs can be compiled, with the C library of the user's cache,
    /// or says that the test is skipped.
    #[track_caller]
    fn that_compiles() -> Option<Self> {
        let mut shell = Self::new();
        let named = |name| env::var_os(name).map(PathBuf::from);
        let home = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
        shell.cache = home.unwrap_or(shell.cache);
        shell.write("probe.c", "int main(void) { return 0; }\n");
        let output = shell.run("ppu-gcc probe.c -o probe && make --version");
        let said = String::from_utf8_lossy(&output.stderr);
        let missing = [
            "is not on the PATH",
            "could not be fetched",
            "make: not found",
        ];
        if missing.iter().any(|text| said.contains(text)) {
            skipped(said.trim());
            return None;
        }
        assert!(output.status.success(), "{said}");
        Some(shell)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, script: &str) -> Output {
        let sdk = env!("CARGO_BIN_EXE_cellworks-sdk");
        let script =
            format!("eval \"$('{sdk}' cc --env)\"\ncc() {{ '{sdk}' cc \"$@\"; }}\n{script}");
        Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.path(""))
            .env("XDG_CACHE_HOME", &self.cache)
            .output()
            .unwrap()
    }

    /// Runs a script, which must succeed without a message, and returns what it prints.
    #[track_caller]
    fn prints(&self, script: &str) -> String {
        let output = self.run(script);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && err.is_empty(), "{script}: {err}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a script, which must fail with code 1, and returns its messages.
    #[track_caller]
    fn fails(&self, script: &str) -> String {
        let output = self.run(script);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(1), &b""[..]),
            "{script}"
        );
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn the_environment_has_the_tools_and_the_folder_of_the_sdk() {
    let shell = Shell::new();
    let sdk = env!("CARGO_BIN_EXE_cellworks-sdk");
    let cache = shell.folder.path().join("cellworks");
    for name in ["ppu-gcc", "spu-gcc", "ppu32-embedspu", "ppuxlc", "spu-ar"] {
        let path = shell.prints(&format!(
            "test $(command -v {name}) -ef {sdk} && command -v {name}"
        ));
        assert!(Path::new(&path).starts_with(&cache), "{path}");
    }
    shell.prints("test -f $CELL_TOP/buildutils/make.footer && test -f $CELL_TOP/make.footer");
    // The compilers of this computer stay, unless the PPU is to be this computer.
    shell.prints(&format!("! test $(command -v ar) -ef {sdk}"));
    shell.prints(&format!(
        "eval \"$({sdk} cc --env --native)\"; test $(command -v gcc) -ef {sdk}"
    ));
    // Another version of the executable has a folder of its own.
    let other = shell.path("cellworks-sdk");
    fs::copy(sdk, &other).unwrap();
    let top = |sdk: &str| shell.prints(&format!("eval \"$({sdk} cc --env)\"; echo $CELL_TOP"));
    assert_ne!(top(sdk), top(&other.display().to_string()));
}

#[test]
fn configure_scripts_get_answers() {
    let shell = Shell::new();
    assert_eq!(
        shell.prints("ppu-gcc -dumpmachine; spu-gcc -dumpmachine"),
        "ppu\nspu\n"
    );
    assert_eq!(shell.prints("spu-g++ -dumpversion"), "4.1.1\n");
    let version = shell.prints("ppu-gcc --version");
    assert!(
        version.starts_with("ppu-gcc (GCC) 4.1.1 (Cellworks "),
        "{version}"
    );
    let output = shell.run("spu-gcc -v");
    assert!(output.status.success());
    assert!(output.stderr.starts_with(b"gcc version 4.1.1 ("));
}

#[test]
fn archives_are_made_listed_and_taken_apart() {
    let shell = Shell::new();
    let long = "an_object_with_a_long_name.o";
    shell.write("one.o", "1");
    shell.write(long, "22");
    shell.prints(&format!(
        "ppu-ar -qcs lib.a one.o && spu-ar r lib.a {long} && ppu-ranlib lib.a"
    ));
    assert_eq!(shell.prints("ppu-ar t lib.a"), format!("one.o\n{long}\n"));
    shell.write("one.o", "new");
    let script = format!("ppu-ar rcs lib.a one.o && rm *.o && ppu-ar x lib.a && cat one.o {long}");
    assert_eq!(shell.prints(&script), "new22");
    assert_eq!(
        shell.prints("ppu-ar d lib.a one.o && ppu-ar t lib.a"),
        format!("{long}\n")
    );
    let message = shell.fails("ppu-ar t gone.a");
    assert!(
        message.contains("ppu-ar: error: gone.a: No such file"),
        "{message}"
    );
    let message = shell.fails("ppu-ar");
    assert!(message.contains("rcs lib.a one.o two.o"), "{message}");
}

#[test]
fn a_program_is_embedded_with_its_symbol() {
    let shell = Shell::new();
    shell.write(
        "kernel",
        [&b"\0asm\x01\0\0\0"[..], &vec![7; 1 << 20]].concat(),
    );
    for tool in ["embedspu", "ppu-embedspu -m64", "ppu32-embedspu -m32"] {
        shell.prints(&format!("{tool} kernel_spu kernel kernel.o"));
        let object = fs::read(shell.path("kernel.o")).unwrap();
        assert!(
            object.windows(10).any(|bytes| bytes == b"kernel_spu"),
            "{tool}"
        );
        fs::remove_file(shell.path("kernel.o")).unwrap();
    }
    for (arguments, part) in [
        ("kernel kernel.o", "the arguments are a symbol"),
        (
            "my-kernel kernel kernel.o",
            "a symbol is a name of C, such as my_kernel",
        ),
        ("kernel_spu gone kernel.o", "gone: No such file"),
    ] {
        let message = shell.fails(&format!("ppu-embedspu {arguments}"));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn tools_that_are_not_here_say_so() {
    let shell = Shell::new();
    for tool in ["spu-objcopy", "ppu-as", "spu-gdb"] {
        let message = shell.fails(&format!("{tool} x"));
        assert!(
            message.starts_with(&format!("{tool}: error: this tool is not here")),
            "{message}"
        );
    }
    assert_eq!(shell.prints("ppu-strip x && spu-ranlib x"), "");
    // Makefiles call these at the end of a build.
    for tool in ["spu-size", "spu-readelf -h", "ppu-nm", "ppu32-objdump -d"] {
        let output = shell.run(&format!("{tool} x"));
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{tool}"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(": note: nothing is shown"), "{tool}: {said}");
    }
}

#[test]
fn one_line_asks_what_it_cannot_find_out() {
    let shell = Shell::new();
    shell.write(
        "main.c",
        "#include <libspe2.h>\nextern spe_program_handle_t ping, pong;\n",
    );
    shell.write("a.c", "#include <spu_mfcio.h>\nint main() {}\n");
    shell.write("b.c", "#include <spu_mfcio.h>\nint main() {}\n");
    for (arguments, part) in [
        (
            "main.c a.c b.c",
            "say which source is of which program, such as --spu ping=a.c --spu pong=b.c",
        ),
        ("a.c", "no source is of the PPU"),
        ("", "no input files; cellworks cc --help has examples"),
        ("gone.c", "gone.c: No such file or directory"),
        ("-c main.c", "use ppu-gcc and spu-gcc for single sources"),
        ("--spu ping main.c", "NAME=FILE,FILE"),
        ("--native main.c", "--native is for --env"),
        ("-shared main.c", "programs are linked statically"),
    ] {
        let message = shell.fails(&format!("cc {arguments}"));
        assert!(message.starts_with("cellworks cc: error: "), "{message}");
        assert!(message.contains(part), "{arguments}: {message}");
    }
    let help = shell.prints("cc --help");
    assert!(
        help.contains("cellworks cc -o hello hello.c hello_spu.c"),
        "{help}"
    );
}

const PPU: &str = "\
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t NAME;

int main(void)
{
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t context = spe_context_create(0, NULL);
    spe_program_load(context, &NAME);
    spe_context_run(context, &entry, 0, NULL, NULL, NULL);
    puts(MESSAGE);
    return spe_context_destroy(context);
}
";

const SPU: &str = "\
#include <spu_intrinsics.h>
#include <stdio.h>

int main(unsigned long long id)
{
    printf(\"hello from %llx\\n\", id);
    return 0;
}
";

fn ppu(name: &str) -> String {
    PPU.replace("NAME", name).replace("MESSAGE", "\"done\"")
}

impl Shell {
    /// Asserts that a file is a program that runs, with SPU programs for these handles in it.
    #[track_caller]
    fn has_program(&self, name: &str, handles: usize) {
        let bytes = fs::read(self.path(name)).unwrap();
        let first = b"#!/usr/bin/env -S cellworks exec\n\0asm";
        assert!(bytes.starts_with(first), "{name} is a program");
        let modules = bytes
            .windows(8)
            .filter(|bytes| *bytes == b"\0asm\x01\0\0\0")
            .count();
        assert_eq!(modules, 1 + handles, "{name} has its SPU programs");
    }
}

#[test]
fn a_makefile_with_plain_rules_works() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("main.c", ppu("hello_spu"));
    shell.write("spu.c", SPU);
    shell.write(
        "Makefile",
        "hello: main.o hello_spu.so\n\tppu-gcc -m64 -o $@ $^ -lspe2 -lpthread\n\
         main.o: main.c\n\tppu-gcc -Wall -MMD -c $< -o $@\n\
         hello_spu.so: hello_spu\n\tppu-embedspu -m64 $< $< $@\n\
         hello_spu: spu.c\n\tspu-gcc -O3 -std=gnu99 -mbranch-hints $< -o $@\n",
    );
    let output = shell.run("make -s");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    assert_eq!(
        err.matches("-m64").count(),
        1,
        "the linker says it once: {err}"
    );
    shell.has_program("hello", 1);
    let dependencies = fs::read_to_string(shell.path("main.d")).unwrap();
    assert!(dependencies.starts_with("main.o: main.c"), "{dependencies}");
    assert!(
        shell.run("make -q").status.success(),
        "nothing is left to do"
    );
}

#[test]
fn makefiles_with_the_footer_of_the_sdk_work() {
    const FOOTER: &str = "include $(CELL_TOP)/buildutils/make.footer\n";
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    // Only the footer of the environment is there.
    shell.write(
        "Makefile",
        format!("CELL_TOP := /opt/cell/sdk\nDIRS := spu more ppu\n{FOOTER}"),
    );
    // Headers are found here and in the folders of VPATH, and an object may be an import.
    let headers = "#include <common.h>\n#include <own.h>\n";
    shell.write("spu/kernel.c", format!("{headers}{SPU}"));
    shell.write("spu/own.h", "");
    shell.write("common/common.h", "");
    shell.write("common/help.c", "int help(void) { return 1; }\n");
    let variables = "PROGRAMS_spu := kernel-spu\nLIBRARY_embed := lib_kernel.a\nIMPORTS = help.o -lm\n\
                     VPATH := ../common\n";
    shell.write("spu/Makefile", format!("{variables}{FOOTER}"));
    shell.write("more/one.c", SPU);
    shell.write("more/two.c", SPU);
    let variables = "TARGET_PROCESSOR := spu\nPROGRAMS := one two\nLIBRARY_embed64 := lib_more.a\n";
    shell.write("more/Makefile", format!("{variables}{FOOTER}"));
    shell.write(
        "include/message.h",
        "int all(void);\n#define MESSAGE all() ? TEXT : TEXT\n",
    );
    let source = PPU.replace("NAME", "kernel_spu");
    shell.write("ppu/main.c", format!("#include <message.h>\n{source}"));
    shell.write(
        "ppu/all.c",
        "extern char one[], two[];\nint all(void) { return one[3] + two[3]; }\n",
    );
    shell.write(
        "ppu/skip/other.c",
        "#error this source is of another folder\n",
    );
    let variables = "PROGRAM_ppu64 := hello\nINCLUDE := -I../include\nCFLAGS_main := -DTEXT='\"done\"'\n\
                     CC_OPT_LEVEL := -O1\nINSTALL_FILES = hello\nINSTALL_DIR = $(EXP_SDKBIN)\n\
                     CFLAGS = -I$(SDKINC)\n\
                     IMPORTS := ../spu/lib_kernel.a -lspe2 -lpthread  ../more/lib_more.a\n";
    shell.write("ppu/Makefile", format!("{variables}{FOOTER}"));
    // What a clone has from another compiler is newer than its sources.
    for left in [
        "ppu/main.o",
        "ppu/hello",
        "spu/kernel.o",
        "spu/lib_kernel.a",
        "spu/kernel-spu",
    ] {
        shell.write(left, "\x7fELF");
    }
    let output = shell.run("make -s");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    shell.has_program("ppu/hello", 3);
    // A header that has changed makes its objects again.
    let is_made = |shell: &Shell| shell.prints("make -n -C spu kernel.o").contains("spu-gcc");
    assert!(!is_made(&shell));
    shell.write("spu/own.h", "int changed;\n");
    assert!(is_made(&shell));
    shell.prints("make -s clean");
    for made in [
        "ppu/hello",
        "ppu/main.o",
        "spu/kernel-spu",
        "spu/lib_kernel.a",
        "spu/kernel.o.d",
        "more/one",
    ] {
        assert!(!shell.path(made).exists(), "{made}");
    }
}

#[test]
fn an_object_of_the_other_side_is_refused() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("main.c", "int main(void) { return 0; }\n");
    shell.write("spu.c", SPU);
    shell.prints("spu-gcc -c spu.c && spu-ar rcs libspu.a spu.o && ppu-gcc -c main.c");
    for (script, parts) in [
        (
            "ppu-gcc -o out main.o spu.o",
            ["spu.o is an object of an SPU program", "ppu-embedspu"],
        ),
        (
            "ppu-gcc -o out main.c libspu.a",
            ["libspu.a (spu.o) is an object of an SPU", "cellworks cc"],
        ),
        (
            "spu-gcc -o out main.o",
            ["main.o is an object of the PPU", "spu-gcc"],
        ),
    ] {
        let message = shell.fails(script);
        for part in parts {
            assert!(message.contains(part), "{script}: {message}");
        }
    }
    // A library of the other side is passed over, as by the linkers of the SDK.
    shell.prints("ppu-gcc -o out main.o -L. -lspu 2>&1");
}

#[test]
fn archives_of_the_sdk_are_linked_by_their_paths() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("spu/kernel.c", SPU);
    shell.write(
        "spu/Makefile",
        "PROGRAM_spu := kernel\nINCLUDE = -I$(SDKINC_spu) -I$(SYSROOT)/usr/spu/include\n\
         IMPORTS = $(SDKLIB_spu)/libmisc.a $(SDKEXLIB_spu)/libsync.a -L$(SDKLIB) -lsimdmath\n\
         include $(CELL_TOP)/buildutils/make.footer\n",
    );
    shell.prints("make -s -C spu && test -f spu/kernel");
    // A Makefile may say where the SDK had them.
    let output = shell.run(
        "spu-gcc spu/kernel.c /opt/cell/sysroot/usr/spu/lib/libmisc.a -o other && test -f other",
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "note: /opt/cell/sysroot/usr/spu/lib/libmisc.a: there is no such file; this library of the SDK is always \
         linked\n"
    );
    let message = shell.fails("spu-gcc spu/kernel.c libother.a");
    assert!(message.contains("libother.a: No such file"), "{message}");
}

#[test]
fn headers_of_this_computer_are_not_read() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "main.c",
        "#include <stdio.h>\nint main(void) { return EOF; }\n",
    );
    let output =
        shell.run("ppu-gcc -I/usr/include -isystem /usr/local/include -I/usr/include -c main.c");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("is left out").count(), 2, "{said}");
}

#[test]
fn one_line_makes_a_program() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("hello.c", ppu("hello_spu"));
    shell.write("hello_spu.c", SPU);
    shell.prints("cc -O2 -o hello.cell hello.c hello_spu.c");
    shell.has_program("hello.cell", 1);

    // A program that is opened by its name lies beside the other.
    shell.write(
        "open.c",
        "#include <libspe2.h>\nint main() { return !spe_image_open(\"bin/kernel.elf\"); }\n",
    );
    shell.prints("mkdir out && cc -o out/open open.c hello_spu.c");
    shell.has_program("out/open", 0);
    shell.has_program("out/bin/kernel.elf", 0);

    shell.write("keep/bin/kernel.elf", "mine");
    let message = shell.fails("cc -o keep/open open.c hello_spu.c");
    assert!(message.contains("is not replaced"), "{message}");

    let two = PPU
        .replace("NAME", "hello_spu")
        .replace("MESSAGE", "other ? \"done\" : \"\"");
    let head =
        "#include <libspe2.h>\nextern spe_program_handle_t kernel;\nvoid *other = &kernel;\n";
    // In C++, one line may declare the handle as of C.
    let cpp = ppu("hello_spu").replace("extern spe", "extern \"C\" spe");
    shell.write("hello.cpp", cpp);
    shell.prints("cc -o hello hello.cpp hello_spu.c");
    shell.has_program("hello", 1);

    shell.write("two.c", format!("{head}{two}"));
    shell.write("kernel.c", SPU);
    shell.prints("cc two.c hello_spu.c --spu kernel=kernel.c");
    shell.has_program("a.out", 2);
}

#[test]
fn errors_of_sources_are_those_of_the_compiler() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("bad.c", "int f(void)\n{\n    return x;\n}\n");
    let message = shell.fails("spu-gcc -c bad.c");
    assert!(message.contains("bad.c:3:12: error:"), "{message}");
    assert!(!shell.path("bad.o").exists());
    shell.write(
        "main.c",
        "int gone(void);\nint main(void) { return gone(); }\n",
    );
    let message = shell.fails("ppu-gcc main.c -o main");
    assert!(message.contains("uses `gone`"), "{message}");
    assert!(!shell.path("main").exists());
}

#[test]
fn what_is_not_defined_is_named_with_its_line_and_a_remedy() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("main.c", ppu("kernel_spu"));
    let spu = "#include <spu_intrinsics.h>\nint square(int);\nint main(void)\n{\n    return square(3);\n}\n";
    shell.write("kernel_spu.c", spu);
    shell.write("square.c", "int square(int x) { return x * x; }\n");
    assert_eq!(
        shell.fails("cc -o prog main.c kernel_spu.c square.c"),
        "error: kernel_spu.c:5:12 in main uses `square`, which no source, object or library of the SPU program \
         defines\n\
         note: square.c is a source of the PPU alone, because no header and no name says else; if the SPU program \
         needs one, name all of its sources, also those of both sides: --spu kernel_spu=kernel_spu.c,square.c\n"
    );
    shell.prints("cc -o prog main.c square.c --spu kernel_spu=kernel_spu.c,square.c");
    shell.has_program("prog", 1);

    // The line in an archive, and a name that only a variable uses.
    shell.prints("mkdir a && spu-gcc -c kernel_spu.c -o a/k.o && spu-ar rcs a/libk.a a/k.o");
    let message = shell.fails("spu-gcc a/libk.a -o prog");
    assert!(
        message.contains("kernel_spu.c:5:12 in main uses `square`"),
        "{message}"
    );
    shell.write(
        "table.c",
        "int square(int);\nint (*table[])(int) = {square};\nint main(int n) { return table[n](2); }\n",
    );
    let message = shell.fails("spu-gcc table.c -o prog");
    assert!(message.contains("table.o uses `square`"), "{message}");
}

#[test]
fn messages_say_what_helps() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    for (tool, source, note) in [
        (
            "ppu-gcc",
            "#include <libmpm.h>\n",
            "note: libmpm.h is of the library of numbers of any length (libmpm)",
        ),
        (
            "spu-gcc",
            "extern __ea int there;\nint f(void) { return there; }\n",
            "cannot name a variable of the PPU (`extern __ea`); pass its address",
        ),
        (
            "spu-g++",
            "#include <vector>\n",
            "note: vector is of the library of C++, which only programs of the PPU have",
        ),
        ("ppu-gcc", "#include \"own.h\"\n", "name its folder with -I"),
        (
            "ppu-gcc",
            "void f(void *g(size_t), int n);\n",
            "such as <stddef.h> for size_t",
        ),
        (
            "ppu-gcc",
            "#include <dlfcn.h>\n",
            "note: dlfcn.h is of shared libraries, of which there are none",
        ),
        (
            "spu-gcc",
            "int f(int n) { int g(int m) { return n + m; } return g(1); }\n",
            "clang has no functions inside of functions, which are GNU C: move this one out",
        ),
    ] {
        shell.write("bad.c", source);
        let message = shell.fails(&format!("{tool} -c bad.c"));
        assert!(
            message.contains("error: ") && message.contains(note),
            "{message}"
        );
    }
}

#[test]
fn what_gcc_did_not_warn_of_is_compiled_without_a_word() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    let source = "#include <stdio.h>\n\
                  #include <tgmath.h>\n\
                  struct point { int x, y; } origin = { x: 0, y: 0 };\n\
                  double size(double x) { return fabs(x); }\n\
                  FILE *file(void) { return tmpfile(); }\n\
                  int main(int n, char **names)\n\
                  {\n\
                      vector float x = {1, 2, 3, 4};\n\
                      vector int y = {n};\n\
                      printf(\"%vf %d %,vd %s\\n\", x, n, y, names[0]);\n\
                      if (n);\n\
                      return 0;\n\
                  }\n";
    shell.write("quiet.c", source);
    shell.prints("ppu-gcc -Wall -c quiet.c && spu-gcc -Wall -c quiet.c");
    // Other conversions are checked in sources without these.
    shell.write(
        "wrong.c",
        "#include <stdio.h>\nvoid f(long long x) { printf(\"%d\\n\", x); }\n",
    );
    let output = shell.run("spu-gcc -c wrong.c");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("[-Wformat]"),
        "{output:?}"
    );
}

#[test]
fn the_preprocessor_knows_the_side() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "side.c",
        "#ifdef __SPU__\nspu\n#endif\n#ifdef __PPU__\nppu\n#endif\n",
    );
    assert!(shell.prints("spu-gcc -E -P side.c").trim().ends_with("spu"));
    assert!(
        shell
            .prints("ppu-gcc -E -P - < side.c")
            .trim()
            .ends_with("ppu")
    );
    shell.prints("ppu-g++ -E -P side.c -o side.i && grep -q ppu side.i");
    let rule = shell.prints("spu-gcc -MM side.c");
    assert!(rule.starts_with("side.o: side.c"), "{rule}");
}

/// Runs a program of the PPU on a simulated machine, and returns what it prints.
#[track_caller]
fn exec(shell: &Shell, program: &str) -> String {
    let sdk = env!("CARGO_BIN_EXE_cellworks-sdk");
    shell.prints(&format!("'{sdk}' exec --machine ps3 {program}"))
}

#[test]
fn functions_without_declarations_are_called_as_on_a_cell() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "old.c",
        "#include <stdio.h>\n\
         int wide, last;\n\
         main(argc, argv) int argc; char **argv;\n\
         {\n\
             /* A result of 64 bits and none, an argument of 64 bits, too many and too few. */\n\
             tell();\n\
             int now = time(NULL);\n\
             srand(now);\n\
             store(5, 6);\n\
             int halved = half(7.0);\n\
             printf(\"%d %d %d %d\\n\", now > 1000000000, wide, last, halved);\n\
             return 0;\n\
         }\n",
    );
    shell.write(
        "other.c",
        "extern int wide, last;\n\
         void store(long long x) { wide = x; }\n\
         void tell(char *text) { if (text) last = 1; }\n\
         short half(double x) { last = x; return x / 2; }\n",
    );
    shell.prints("ppu-gcc -w -c old.c other.c && ppu-ar rcs libother.a other.o && ppu-gcc old.o -L. -lother -o old");
    assert_eq!(exec(&shell, "./old"), "1 5 7 3\n");
}

#[test]
fn arguments_after_the_named_ones_are_not_lost() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "other.c",
        "#include <stdarg.h>\n\
         int total(int n, ...)\n\
         {\n\
             va_list list;\n\
             int sum = 0;\n\
             va_start(list, n);\n\
             while (n--)\n\
                 sum += va_arg(list, int);\n\
             return sum;\n\
         }\n\
         int first(int n, ...) { return n; }\n\
         int plain(int a, int b) { return a - b; }\n",
    );
    // The linker sees both types.
    let unknown = |called: &str, defined: &str| {
        format!(
            "main.c:2:8 in main calls `{called}, and it is defined as {defined} (a pointer is an int here): what is \
             passed for `...` would be wrong; declare the function with its types before the call"
        )
    };
    for (declared, call, sentence) in [
        (
            "int total();",
            "total(3, 1, 2, 3)",
            unknown("total` as int (int, int, int, int)", "int (int, ...)"),
        ),
        (
            "",
            "total(1, 5)",
            unknown("total` as int (int, int)", "int (int, ...)"),
        ),
        (
            "int plain(int, ...);",
            "plain(5, 3)",
            unknown("plain` as int (int, ...)", "int (int, int)"),
        ),
    ] {
        shell.write(
            "main.c",
            format!("{declared} int main(void) {{\nreturn {call}; }}\n"),
        );
        for gcc in ["ppu-gcc", "spu-gcc"] {
            let output = shell.run(&format!("{gcc} -w main.c other.c -o main"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{gcc}, {call}: {said}");
            assert!(said.contains(&sentence), "{gcc}, {call}: {said}");
        }
    }
    // By a pointer of another type, the call ends the program.
    for (pointer, part) in [
        (
            "int (*f)() = total;",
            "a call of total with other arguments",
        ),
        (
            "int (*volatile f)() = total;",
            "through a pointer of another type",
        ),
    ] {
        shell.write(
            "main.c",
            format!("int total(int, ...); int main(void) {{ {pointer}\nreturn f(1, 5); }}\n"),
        );
        shell.prints("ppu-gcc -O2 -w main.c other.c -o main");
        let output = shell.run(&format!(
            "'{}' exec ./main",
            env!("CARGO_BIN_EXE_cellworks-sdk")
        ));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(part) && said.contains("main.c:2:"),
            "{pointer} {said}"
        );
    }
    // What passes nothing there is right.
    shell.write(
        "main.c",
        "#include <stdio.h>\n\
         int total(int, ...);\n\
         int main(void)\n\
         {\n\
             int (*f)(int, ...) = total;\n\
             printf(\"%d %d %d %d\\n\", first(4), plain(5, 3), total(2, 3, 4), f(1, 6));\n\
             return 0;\n\
         }\n",
    );
    shell.prints("ppu-gcc -w main.c other.c -o main");
    assert_eq!(exec(&shell, "./main"), "4 2 7 6\n");
}

#[test]
fn classes_of_cpp_need_no_library() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "main.cpp",
        "#include <cstdio>\n#include <cmath>\n#include <cerrno>\n#include <new>\n\
         struct Shape {\n\
             Shape() { puts(\"made\"); }\n\
             virtual ~Shape() {}\n\
             virtual int area() = 0;\n\
         };\n\
         struct Square : public Shape { int area() { return 4; } };\n\
         static Square first;\n\
         template <class T> T twice(T x) { return x + x; }\n\
         int main()\n\
         {\n\
             Shape *shape = new Square;\n\
             int *numbers = new int[2];\n\
             numbers[1] = shape->area();\n\
             printf(\"%d %d\\n\", twice(numbers[1]), twice(first.area()));\n\
             new (numbers) Square;\n\
             std::printf(\"%.3f\\n\", std::sqrt(2.0f));\n\
             delete[] numbers;\n\
             delete shape;\n\
             return 0;\n\
         }\n",
    );
    shell.prints("ppu-g++ -O2 main.cpp -o main");
    assert_eq!(exec(&shell, "./main"), "made\nmade\n8 8\nmade\n1.414\n");
}

#[test]
fn a_note_says_how_a_program_gets_a_folder() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "open.c",
        "#include <stdio.h>\n\
         int main(int count, char **names) { while (--count) fopen(*++names, \"r\"); return 3; }\n",
    );
    shell.write("given/a", "");
    shell.prints("ppu-gcc open.c -o open");
    let sdk = env!("CARGO_BIN_EXE_cellworks-sdk");
    for (arguments, note) in [
        ("./open in.pgm", Some(("in.pgm", "."))),
        ("./open data/in.pgm /other", Some(("data/in.pgm", "."))),
        ("./open ../data/in.pgm", Some(("../data/in.pgm", "../data"))),
        (
            "--dir given ./open given/a /tmp/data/in.pgm",
            Some(("/tmp/data/in.pgm", "/tmp/data")),
        ),
        ("--dir . ./open in.pgm /dev/null", None),
    ] {
        let output = shell.run(&format!("{sdk} exec {arguments}"));
        let note = note.map_or_else(String::new, |(file, folder)| {
            format!(
                "cellworks: the program looks for {file}, and a program sees only the folders that it is given: \
                 add --dir {folder}\n"
            )
        });
        assert_eq!(String::from_utf8_lossy(&output.stderr), note, "{arguments}");
        assert_eq!(output.status.code(), Some(3), "{arguments}");
    }
}

#[test]
fn headers_bring_what_those_of_the_sdk_and_of_linux_do() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write(
        "libspe2.c",
        "#include <libspe2.h>\nuint64_t f(void) { fprintf(stderr, \"\"); return errno + INT_MAX + SPE_INVALID_DMA; }\n",
    );
    shell.write(
        "types.c",
        "#include <stdlib.h>\noff_t f(pid_t a) { return a; }\n",
    );
    shell.write(
        "malloc.c",
        "#include <malloc.h>\nFILE *f(void) { return stdout; }\n",
    );
    shell.prints("for name in libspe2 types malloc; do ppu-gcc -Wall -c $name.c; done");
    shell.prints("for name in types malloc; do spu-gcc -Wall -c $name.c; done");
}

#[test]
fn a_variable_in_a_header_is_one_variable() {
    let Some(shell) = Shell::that_compiles() else {
        return;
    };
    shell.write("shared.h", "int numbers[4];\ndouble total;\n");
    shell.write(
        "main.c",
        "#include <stdio.h>\n#include \"shared.h\"\nvoid add(void);\n\
         int main(void) { numbers[3] = 4; add(); printf(\"%g\\n\", total); return 0; }\n",
    );
    shell.write(
        "add.c",
        "#include \"shared.h\"\nvoid add(void) { total = numbers[3] + 0.5; }\n",
    );
    shell.prints("ppu-gcc main.c add.c -o main");
    assert_eq!(exec(&shell, "./main"), "4.5\n");
}
