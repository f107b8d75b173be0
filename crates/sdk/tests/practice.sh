#!/bin/sh
# Builds and runs public programs of the Cell, and says for each what it did or what stopped it.
#
#   crates/sdk/tests/practice.sh FOLDER
#
# FOLDER keeps the programs. What is missing there is fetched from GitHub, so this script is no part
# of .ci/run. `cellworks` and `cellworks-sdk` have to be on the PATH. The programs are built by
# their own Makefiles. Lines that have to be changed are changed below, each by a `sed`.
set -u

folder=$(mkdir -p "$1" && cd "$1" && pwd) || exit 2
built=$folder/built
rm -rf "$built" && mkdir -p "$built"
eval "$(cellworks cc --env)" || exit 2

# fetch OWNER NAME COMMIT: leaves a copy in $built/NAME.
fetch() {
    if [ ! -d "$folder/$2" ]; then
        git clone --quiet "https://github.com/$1/$2" "$folder/$2" || exit 2
    fi
    mkdir "$built/$2"
    git -C "$folder/$2" archive "$3" | tar -x -C "$built/$2" || exit 2
    cd "$built/$2" || exit 2
}

# try NAME COMMAND...: runs a command for at most 100 seconds, and says how it ended.
try() {
    name=$1
    shift
    if timeout 100 "$@" >"$built/out" 2>"$built/err"; then
        tried=yes
        echo "  $name: right"
    else
        tried=no
        reason=$(grep -m 1 -E 'error|Error' "$built/err" "$built/out" | sed 's/^[^:]*://' | cut -c 1-160)
        echo "  $name: ${reason:-it ended with another code, or too late}"
    fi
}

# runs PROGRAM EXPECTED ARGUMENTS...: runs a program on both machines, and compares what it prints.
runs() {
    program=$1
    expected=$2
    shift 2
    for machine in host ps3; do
        printf '%s\n' "$expected" >"$built/expected"
        try "$program on $machine" sh -c \
            'machine=$1 program=$2 expected=$3; shift 3
             cellworks exec --machine "$machine" --dir . "./$program" "$@" | diff - "$expected"' \
            sh "$machine" "$program" "$built/expected" "$@"
    done
}

echo 'Essler/Parallel-Computing'
fetch Essler Parallel-Computing 10eb00273810365a2a70a0f47930e9c43af3b175
cd examples || exit 2
counted=$(seq 64 | awk '{ printf "out[%02d]=%d\n", $1 - 1, $1 }')
for example in *; do
    cd "$example" || exit 2
    rm -f ./*.elf
    try "$example builds" make CC=ppu-gcc
    case $example in
    SPE-hello_world) runs hello_ppe.elf 'Hello world!' ;;
    SPE-abs_dma) runs abs_ppe.elf "$counted" ;;
    SPE-abs_spu_simd) runs vec_abs_ppe.elf "$counted" ;;
    SPE-abs_multi_spe) runs multi_vec_abs_ppe.elf "$counted" ;;
    SIMD-vec_add) runs vec_add.elf 'c[0]=3, c[1]=7, c[2]=11, c[3]=15' ;;
    SIMD-abs_diff)
        differences=$(seq 15 -2 1; seq 1 2 15)
        runs abs_diff.elf "$(echo "$differences" | awk '{ printf "c[%02d]=%2d\n", NR - 1, $1 }')"
        ;;
    SIMD-mat_trans)
        last=$(printf '%s\n' ' 1  5  9 13 ' ' 2  6 10 14 ' ' 3  7 11 15 ' ' 4  8 12 16 ')
        for machine in host ps3; do
            try "mat_trans.elf on $machine" sh -c \
                '[ "$(cellworks exec --machine "$1" ./mat_trans.elf | tail -4)" = "$2" ]' sh $machine "$last"
        done
        ;;
    esac
    cd ..
done

echo 'AlinGabriel/Teme-ASC, Tema3'
fetch AlinGabriel Teme-ASC 7f89aa2dc535b1353514dccbb9cf15f604ba19bd
cd Tema3/ppu || exit 2
try 'it builds' make
(cd ../serial && make >/dev/null 2>&1)
awk 'BEGIN {
    printf "P5\n# made\n64 128\n255\n"
    for (i = 0; i < 64 * 128; i++) printf "%c", 33 + (i * 7 + int(i / 64) * 5) % 90
}' >in.pgm
../serial/btc in.pgm serial.btc serial.pgm >/dev/null
for machine in host ps3; do
    try "an image on 4 SPEs as by the serial program, on $machine" sh -c \
        'cellworks exec --machine "$1" --dir . ./tema3 0 4 in.pgm spu.btc spu.pgm &&
         cmp spu.pgm serial.pgm' sh $machine
done

echo 'Hibari-K/CellBE_multiply_PS3'
fetch Hibari-K CellBE_multiply_PS3 32a4efed8ded1b8572c95a6fc414377d5ceef528
# Two lines: the first of two programs that multiply is no longer there.
sed -i 's/spu_bigmul/spu_kernel/' ppu_main.c
# Four lines: an element of a vector has no address for clang.
sed -i 's/(vec_short8 \*)&\(.\)\[0\]\[0\]/(vec_short8 *)\&\1[0]/' spu_kernel.c
try 'it builds' make
for machine in host ps3; do
    try "the product of two numbers of 128 bits, on $machine" sh -c \
        'cellworks exec --machine "$1" ./ppu_main 4 | grep -q "^$2\$"' \
        sh $machine 0123456789abcdf0123456789abcdf0120fedcba987654320fedcba987654321
done

echo 'cosminstefanxp/Cell-Arhitecture-Image-Classifier'
fetch cosminstefanxp Cell-Arhitecture-Image-Classifier b762eb32dee4b1930172f8ae0f8a03c2b627b24e
# The library LAPACK is none of the SDK. These are the two functions that the program calls: an LU
# factorisation with partial pivoting, and the inverse by it. Columns are contiguous.
cat >lapack.h <<'END'
void dgetrf_(int *m, int *n, double *a, int *lda, int *ipiv, int *info);
void dgetri_(int *n, double *a, int *lda, int *ipiv, double *work, int *lwork, int *info);
END
mkdir lapack
cat >lapack/lapack.c <<'END'
#include <math.h>
#include <string.h>
#include <stdlib.h>
void dgetrf_(int *m, int *n, double *a, int *lda, int *ipiv, int *info)
{
    int size = *n, rows = *lda;
    *info = 0;
    for (int k = 0; k < size; k++) {
        int best = k;
        for (int i = k; i < size; i++)
            if (fabs(a[i + k * rows]) > fabs(a[best + k * rows]))
                best = i;
        ipiv[k] = best + 1;
        if (a[best + k * rows] == 0) { *info = k + 1; return; }
        for (int j = 0; j < size && best != k; j++) {
            double other = a[k + j * rows];
            a[k + j * rows] = a[best + j * rows];
            a[best + j * rows] = other;
        }
        for (int i = k + 1; i < size; i++)
            a[i + k * rows] /= a[k + k * rows];
        for (int j = k + 1; j < size; j++)
            for (int i = k + 1; i < size; i++)
                a[i + j * rows] -= a[i + k * rows] * a[k + j * rows];
    }
}
void dgetri_(int *n, double *a, int *lda, int *ipiv, double *work, int *lwork, int *info)
{
    int size = *n, rows = *lda;
    *info = 0;
    if (*lwork < 0) { *work = size; return; }
    double *lu = malloc(sizeof(double) * size * rows);
    memcpy(lu, a, sizeof(double) * size * rows);
    for (int column = 0; column < size; column++) {
        double *x = a + column * rows;
        for (int i = 0; i < size; i++)
            x[i] = i == column;
        for (int k = 0; k < size; k++) {
            double other = x[k];
            x[k] = x[ipiv[k] - 1];
            x[ipiv[k] - 1] = other;
        }
        for (int i = 0; i < size; i++)
            for (int k = 0; k < i; k++)
                x[i] -= lu[i + k * rows] * x[k];
        for (int i = size - 1; i >= 0; i--) {
            for (int k = i + 1; k < size; k++)
                x[i] -= lu[i + k * rows] * x[k];
            x[i] /= lu[i + i * rows];
        }
    }
    free(lu);
}
END
ppu-gcc -O2 -c lapack/lapack.c -o lapack/lapack.o && ppu-ar rcs liblapack.a lapack/lapack.o
# One line: a PlayStation 3 has 6 SPEs for programs.
sed -i 's/^#define SPU_THREADS 8/#define SPU_THREADS 6/' tema4.c
try 'it builds' make LDFLAGS=-L. INCLUDE=-I.
# Images of the two classes become brighter to the right and downwards.
for class in tigru elefant test; do
    for i in 1 2 3 4 5 6 7 8; do
        awk -v class=$class -v i=$i 'BEGIN {
            srand(i * 7 + length(class))
            kind = class == "test" ? (i % 2 ? "tigru" : "elefant") : class
            printf "P5\n16 16\n255\n"
            for (y = 0; y < 16; y++)
                for (x = 0; x < 16; x++)
                    printf "%c", 40 + (kind == "tigru" ? x : y) * 4 + int(rand() * 20)
        }' >images/$class/${class}_$i.pgm
    done
done
for _ in 1 2 3 4; do printf 'images/tigru images/elefant '; done >"$built/classes"
for machine in host ps3; do
    try "the class of each image, on $machine" sh -c \
        'cellworks exec --machine "$1" --dir . ./tema4 images/tigru images/elefant 8 -c images/test 8 |
             grep Classified | awk "{ print \$NF }" | tr "\n" " " | diff - "$2"' \
        sh $machine "$built/classes"
done

echo 'davidoguns/raytracer'
fetch davidoguns raytracer 2f9d1d6c68a529f0018aad22b791c8200269214f
try 'spu builds' make -C spu
try 'ppu builds' make -C ppu

echo 'grepwood/libspe2, tests'
fetch grepwood libspe2 ca4fdcce6029501ebac0cfb3ebb340d82d16d0a0
cd tests || exit 2
for set in basic run mfc event c99; do
    cd "libspe2.$set" || exit 2
    make -k >"$built/$set.log" 2>&1
    programs=$(make -n check 2>/dev/null | grep -o 'for p in [^;]*' | sed 's/for p in //')
    for program in $programs; do
        if [ -f "$program" ]; then
            case $program in
            *.sh) try "$set/$program" "./$program" ;;
            *) try "$set/$program" cellworks exec --dir . --dir /dev "./$program" ;;
            esac
        else
            missing=$(make "$program" 2>&1 | grep -m 1 -E 'error: |uses' | cut -c 1-160)
            echo "  $set/$program: $missing"
        fi
    done
    cd ..
done
