#!/bin/sh
# Finding: objects of clang 21 that call longjmp on WebAssembly no longer link as those of clang 20
# do, because the function that jumps is not marked as an import.
#
# Version    clang and LLD 20.1.2 in ziglang 0.15.2, and 21.1.0 in ziglang 0.16.0 (PyPI)
# Guess      With -mllvm -enable-emscripten-sjlj the calls of a function that may jump, and the
#            jump, go through imports of the module env (invoke_vi, emscripten_longjmp), which the
#            host provides. LLD leaves them undefined.
# Behaviour  invoke_vi is an import in both versions. Up to clang 20 the object gives
#            emscripten_longjmp the module and the name of an import, too. From clang 21 on it is an
#            ordinary undefined symbol, and LLD ends with an error, unless --allow-undefined or
#            --import-undefined is given, which hides each other missing function, or a library
#            defines it.
# Seen       clang 20: links, imports: emscripten_longjmp invoke_vi
#            clang 21: undefined symbol: emscripten_longjmp
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv

cat > jump.c <<'END_OF_C'
int setjmp(long *) __attribute__((returns_twice));
void longjmp(long *, int) __attribute__((noreturn));

static long place[40];

static __attribute__((noinline)) void jump(int value) { longjmp(place, value); }

int jumps(int value) {
    int result = setjmp(place);
    if (!result)
        jump(value);
    return result;
}
END_OF_C

# What a host or a C library has, apart from the jump.
cat > library.c <<'END_OF_C'
int __THREW__, __threwValue;
void setThrew(int threw, int value) {}
void __wasm_setjmp(long *at, int label, void *frame) {}
int __wasm_setjmp_test(long *at, void *frame) { return 0; }
int getTempRet0(void) { return 0; }
void setTempRet0(int value) {}
END_OF_C

cat > imports.py <<'END_OF_PYTHON'
import sys


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def name(data, at):
    length, at = number(data, at)
    return data[at : at + length].decode(), at + length


data = open(sys.argv[1], "rb").read()
at, found = 8, []
while at < len(data):
    kind, (size, at) = data[at], number(data, at + 1)
    if kind == 2:
        count, place = number(data, at)
        for _ in range(count):
            _, place = name(data, place)
            field, place = name(data, place)
            found.append(field)
            what, place = data[place], place + 1
            if what == 0:
                _, place = number(data, place)
            elif what == 1:
                limits, place = number(data, place + 1)
                for _ in range(1 + (limits & 1)):
                    _, place = number(data, place)
    at += size
print(*sorted(found))
END_OF_PYTHON

try() {
    mkdir "$2"
    # The compiler and the linker are one of the 20,000 files of the package.
    venv/bin/pip download --quiet --disable-pip-version-check --no-deps --dest "$2" "ziglang==$1"
    venv/bin/python -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extract("ziglang/zig", sys.argv[2])' "$2"/ziglang-*.whl "$2"
    zig=$2/ziglang/zig
    chmod +x "$zig"
    "$zig" clang --version | head -1 >&2
    "$zig" clang --target=wasm32 -O1 -w -mllvm -enable-emscripten-sjlj -c jump.c -o "$2/jump.o"
    "$zig" clang --target=wasm32 -O1 -c library.c -o "$2/library.o"
    if "$zig" wasm-ld --no-entry --export=jumps "$2/jump.o" "$2/library.o" -o "$2/jump.wasm" 2> "$2/said"; then
        echo "clang $2: links, imports: $(venv/bin/python imports.py "$2/jump.wasm")"
    else
        echo "clang $2: $(sed -n 's/.*\(undefined symbol: .*\)/\1/p' "$2/said" | sort -u)"
    fi
}
{
    try 0.15.2 20
    try 0.16.0 21
} > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
clang 20: links, imports: emscripten_longjmp invoke_vi
clang 21: undefined symbol: emscripten_longjmp
END_OF_EXPECTED
cmp lines expected
