#!/bin/sh
# Finding: a module of WebAssembly that LLD links with --no-entry runs its constructors again at
# each call of an exported function.
#
# Version    clang and LLD 21.1.0 in ziglang 0.16.0, wasmtime 50.0.1 (PyPI)
# Guess      Constructors run once, before the first call, or never without a call of them. A variable
#            that a constructor has set keeps what the calls make of it.
# Behaviour  LLD wraps each exported function, and the wrapper calls all constructors first. Three
#            calls of a counter that a constructor sets to 10 return 10, 10, 10, and a constructor
#            that counts itself counts 3. If a function of the program or --export refers to
#            __wasm_call_ctors, nothing is wrapped, and the caller must see that it is called.
#            Without constructors nothing is wrapped, either: one more object file with a
#            constructor changes what a call of the others does.
# Seen       wrapped: numbers 10 10 10, constructors 1 2 3
#            __wasm_call_ctors called once: numbers 10 11 12, constructors 1 1 1
#
# Exit code  0 if the numbers are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check wasmtime==50.0.1
# The compiler and the linker are one of the 20,000 files of the package.
venv/bin/pip download --quiet --disable-pip-version-check --no-deps ziglang==0.16.0
venv/bin/python -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extract("ziglang/zig")' ziglang-*.whl
zig=$folder/ziglang/zig
chmod +x "$zig"
"$zig" wasm-ld --version

cat > counter.c <<'END_OF_C'
static volatile int next, begun;

__attribute__((constructor)) static void begin(void) {
    next = 10;
    begun++;
}

int number(void) { return next++; }
int constructors(void) { return begun; }
END_OF_C
"$zig" clang --target=wasm32 -O2 -c counter.c
link() {
    output=$1
    shift
    "$zig" wasm-ld --no-entry --export=number --export=constructors "$@" counter.o -o "$output"
}
link wrapped.wasm
link plain.wasm --export=__wasm_call_ctors
cat > call.py <<'END_OF_CALL'
import sys
from wasmtime import Engine, Instance, Module, Store


def calls(name):
    store = Store(Engine())
    exports = Instance(store, Module.from_file(store.engine, sys.argv[1]), []).exports(store)
    if "__wasm_call_ctors" in exports:
        exports["__wasm_call_ctors"](store)
    return " ".join(str(exports[name](store)) for _ in range(3))


print(f"{sys.argv[2]}: numbers {calls('number')}, constructors {calls('constructors')}")
END_OF_CALL
{
    venv/bin/python call.py wrapped.wasm wrapped
    venv/bin/python call.py plain.wasm "__wasm_call_ctors called once"
} > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
wrapped: numbers 10 10 10, constructors 1 2 3
__wasm_call_ctors called once: numbers 10 11 12, constructors 1 1 1
END_OF_EXPECTED
cmp lines expected
