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

cd ..
# Three lines: a header is in the author's home.
sed -i 's|/home/bessler/csci4440/misc/types.h|../misc/types.h|' spe/*.c
try 'spe builds' sh -c 'eval "$(cellworks cc --env --native)" && make -C spe'
cd spe || exit 2
runs hello_ppe.elf '"Hello World!" from 0.'
cd ../simd || exit 2
for example in simd1 simd1_sol simd2; do
    try "$example builds" ppu-gcc $example.c -o $example.elf
done
runs simd1.elf 'sum: 524800'
runs simd1_sol.elf 'sum: 524800'
runs simd2.elf "$(seq 16 | awk '{ printf "out[%02d]=%.1f\n", NR - 1, $1 / 10 }')"
# simd2_sol is not finished: it computes each fourth number.

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

# image FILE WIDTH HEIGHT: writes a grey image with a comment, as the next programs read it.
image() {
    awk -v w="$2" -v h="$3" 'BEGIN {
        printf "P5\n# made\n%d %d\n255\n", w, h
        for (y = 0; y < h; y++) for (x = 0; x < w; x++) printf "%c", 33 + (x * 7 + y * 5 + int(x * y / 7)) % 90
    }' >"$1"
}

# writes EXPECTED FILE PROGRAM ARGUMENTS...: runs a program on both machines, and compares FILE,
# which it writes, with EXPECTED.
writes() {
    expected=$1
    written=$2
    program=$3
    shift 3
    for machine in host ps3; do
        rm -f "$written"
        try "$program $* on $machine" sh -c \
            'machine=$1 expected=$2 written=$3; shift 3
             cellworks exec --machine "$machine" --dir . "$@" && cmp "$written" "$expected"' \
            sh "$machine" "$expected" "$written" "$program" "$@"
    done
}

echo 'vandrei/ASC-Tema3'
fetch vandrei ASC-Tema3 e3e9fd42d64991ad9f048beb2d5fedb926c1a947
try 'it builds' make
# Programs of another compiler lie there, and are newer than their sources.
try 'the serial program builds' make -B -C serial
image in.pgm 64 128
# The image by the serial program is that of the next two programs, too.
cellworks exec --dir . serial/serial in.pgm serial.cmp serial.pgm >/dev/null
compressed=$PWD/serial.cmp
writes "$compressed" spu.cmp ppu/tema3_ppu 0 0 4 in.pgm spu.cmp spu.pgm
# The other ways to compute and to transfer have no code, or it is a comment.

echo 'AndreiDuma/tema3-asc'
fetch AndreiDuma tema3-asc bf52311fe3283e5bb5559f974acd3c4c05888547
try 'it builds' make
image in.pgm 64 128
writes "$compressed" spu.cmp ./tema3 0 0 4 in.pgm spu.cmp spu.pgm
writes "$compressed" spu.cmp ./tema3 2 1 4 in.pgm spu.cmp spu.pgm

echo 'razvancojocaru/CellBE-Compression'
fetch razvancojocaru CellBE-Compression 92fc1fc99d55ee706b7743936ada980df68a89a4
try 'it builds' make
image in.pgm 64 128
writes "$compressed" spu.cmp ppu/tema3 0 0 4 in.pgm spu.cmp spu.pgm
writes "$compressed" spu.cmp ppu/tema3 1 0 4 in.pgm spu.cmp spu.pgm

echo 'vmitris/Homework_CELL'
fetch vmitris Homework_CELL f6f33b060088e84f0a6b531bee89f295b52224ea
try 'it builds' sh -c 'make -C spu && make -C ppu'
try 'the serial program builds' make -B -C serial
image in.pgm 64 128
serial/btc in.pgm serial.btc serial.pgm >/dev/null
# The program subtracts a mean without its fraction, so its image is not quite that of the serial
# program. Their own program compares them.
for machine in host ps3; do
    try "an image on 4 SPEs is like that of the serial program, on $machine" sh -c \
        'cellworks exec --machine "$1" --dir . ppu/tema3 0 4 in.pgm spu.btc spu.pgm &&
         serial/compare pgm serial.pgm spu.pgm | grep -q "different pixels is 0.000000"' sh $machine
done

echo 'Cristof17/Tiny-Encryption-on-Cell-Broadband-Engine'
fetch Cristof17 Tiny-Encryption-on-Cell-Broadband-Engine 0bdc23d6438717c20544aea8a682ebcf967576fa
try 'it builds' make
image plain 64 128
head -c 8192 plain >text
printf '%s' 0123456789abcdef >key
for machine in host ps3; do
    try "what is encrypted and decrypted is the text, on $machine" sh -c \
        'cellworks exec --machine "$1" --dir . ppu/tema3 4 0 0 e text key secret &&
         cellworks exec --machine "$1" --dir . ppu/tema3 2 1 1 d secret key again && cmp again text' sh $machine
done

for program in albertzaharovits/IBMCELL_scaled_multimage_preview/6e21adb513433472b6aebae45ff806ed9222eccf \
    elf11/TVChannelOptimizationCellArch/07fddd7b6bccf8a02e282d110bdfe1d94833c667; do
    echo "${program%/*}"
    # shellcheck disable=SC2046 # the three parts are three words
    fetch $(echo "$program" | tr / ' ')
    try 'it builds' make
    for stream in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16; do
        mkdir -p in/stream$stream
        awk -v s=$stream 'BEGIN {
            printf "P6\n640 384\n255\n"
            for (y = 0; y < 384; y++) for (x = 0; x < 640; x++)
                printf "%c%c%c", 1 + (s * 13 + int(x / 8)) % 120, 1 + int(y / 4) % 120, 1 + (x + y) % 120
        }' >in/stream$stream/image1.pnm
    done
    mkdir out
    # All four ways of transfer scale to the same image.
    cellworks exec --dir . ./program in out 1 4 0 >/dev/null && mv out/result1.pnm expected.pnm
    for way in 0 1 2 3; do
        writes expected.pnm out/result1.pnm ./program in out 1 4 $way
    done
done

echo 'Tch3renk0v/PS3-Hello_SPE'
fetch Tch3renk0v PS3-Hello_SPE b69ef1040d1525d0441a15c70bdbe792ad52b56a
try 'it builds' make CC=ppu-gcc
for machine in host ps3; do
    try "each SPE says hello, on $machine" sh -c \
        '[ "$(cellworks exec --machine "$1" ./Hello.exec | grep -c "Hello from spe")" -ge 6 ]' sh $machine
done

echo 'declanmalone/gnetraid, PS3-IDA'
fetch declanmalone gnetraid 68b3ba1df6ebace29bdecf761440ff9bbdf53bab
cd PS3-IDA || exit 2
# 04-events ends in a deadlock, as its own comment says.
for example in 01-malloc 02-mailbox 03-runargs 04-events 05-semaphore 06-dma 07-shebang; do
    try "$example builds" sh -c 'eval "$(cellworks cc --env --native)" && make -C "$1"' sh $example
done
for machine in host ps3; do
    try "02-mailbox on $machine" sh -c \
        'cd 02-mailbox && cellworks exec --machine "$1" --dir . ./host | grep -q "End of PPU thread"' sh $machine
    try "03-runargs on $machine" sh -c \
        'cd 03-runargs && cellworks exec --machine "$1" --dir . ./host | grep -q "our cols = 4"' sh $machine
done

echo 'dcestari/cell-ant-system'
fetch dcestari cell-ant-system 84ffb78f69f10c1ec4b6a46ffab26e2f86edd374
# Four lines: addresses of the PPU have 32 bits here.
sed -i 's/unsigned long long \(distances_addresses\|pheromones_addresses\)/unsigned int \1/
    s/\(addresses, distances, sizeof(unsigned\) long long)/\1 int)/' spu/as_spu.c
try 'it builds' make

echo 'jlinford/fixedgrid, 2D'
fetch jlinford fixedgrid 90147defe10a0d3c03a7c97207caea66928f4fbb
for variant in 1spu nspu nspu_doublebuff dma_mailbox; do
    branch=2D/cell/branches/$variant
    try "$variant builds" make -C $branch
    [ -d $branch/ppu ] && branch=$branch/ppu
    mkdir $branch/Output
    for machine in host ps3; do
        try "$variant on 4 SPEs runs to its end, on $machine" sh -c \
            'cd "$2" && cellworks exec --machine "$1" --dir . ./fixedgrid 4' sh $machine $branch
    done
done

echo 'claudiughioc/Arhitectura-Sistemelor-de-Calcul-tema3'
fetch claudiughioc Arhitectura-Sistemelor-de-Calcul-tema3 9ccf9d49f4d56612363bc093ce2cd7a300c66f02
# One line: a PlayStation 3 has 6 SPEs for programs.
sed -i 's/^#define SPU_THREADS .*/#define SPU_THREADS 6/' ppu/ppu_mailbox.c
try 'it builds' make
# The PPU answers a request when the next one comes. If the last two are of the same SPE, it waits
# for ever, so the program has six tries.
for machine in host ps3; do
    try "the image has all its numbers, on $machine" sh -c \
        'for attempt in 1 2 3 4 5 6; do
             timeout 15 cellworks exec --machine "$1" --dir . ppu/ppu_mailbox input/3.ppm out.ppm 2 8 6 10 10 &&
                 [ "$(wc -l <out.ppm)" = $((3 * 384 * 384 + 3)) ] && exit
         done; exit 1' sh $machine
done

echo 'silviu/asc.3'
fetch silviu asc.3 a0afecd659a7e64fd4bee1e0e8ccfbbb0fbd9993
# Two lines: an address is written through another one that nothing has set, which a Cell stores
# somewhere in the local store; and a PlayStation 3 has 6 SPEs for programs.
sed -i 's/\*ppu_min_borders_adress\[i\] = /(*ppu_min_borders_adress)[i] = /' spu/spu_worker.c
sed -i 's/^#define SPU_THREADS .*/#define SPU_THREADS 6/' ppu/comm.h
try 'it builds' make
for machine in host ps3; do
    rm -f out.ppm
    try "the image has its size, on $machine" sh -c \
        'cellworks exec --machine "$1" --dir . ppu/ppu_master ppu/input/caramida.ppm out.ppm 3 4 6 16 16 &&
         [ "$(sed -n 2p out.ppm)" = "576 576" ]' sh $machine
done

echo 'Gardern/INF5063_Heterogeneous_Programming, Innlevering2_CELL_BE'
fetch knneth inf5063-codec63 583ceed6ef579fed77641daa1ba5611c71e4c378
make CC=gcc >/dev/null 2>&1
serial=$PWD
awk 'BEGIN {
    for (f = 0; f < 2; f++) {
        for (y = 0; y < 288; y++) for (x = 0; x < 352; x++) printf "%c", 33 + ((x + f * 2) * 3 + y * 2) % 90
        for (k = 0; k < 2; k++)
            for (y = 0; y < 144; y++) for (x = 0; x < 176; x++) printf "%c", 40 + ((x + f) * 2 + y + k * 7) % 80
    }
}' >in.yuv
./c63enc -w 352 -h 288 -o serial.c63 in.yuv >/dev/null 2>&1
fetch Gardern INF5063_Heterogeneous_Programming b5152da69db48e0e5e0c93627a4f41dc19f421c6
cd Innlevering2_CELL_BE || exit 2
# Two lines: both transforms multiply the first half of a row twice, and the second half never.
sed -i '/table2 = /,/out_data\[i\]/s/in_data1, table1/in_data2, table2/' ./*_spe.c
try 'it builds' make
cp "$serial/in.yuv" .
writes "$serial/serial.c63" out.c63 ./c63enc -w 352 -h 288 -o out.c63 in.yuv

echo 'uelipen/Heterogeneous_MHD, Cell'
fetch uelipen Heterogeneous_MHD ce4de591a21a55dda7fbb62d29e0f0bc3af02eda
# It needs 16 SPEs, and a file with initial values that is not there.
try 'it builds' make -C Cell

echo 'itapmd/imd'
fetch itapmd imd eea8b597b9b7b6840a6a46c6af2071732747737b
# It never ends: the PPU reads and writes the registers of an SPE at the address of
# spe_ps_area_get, which reach memory here. A header is in a folder of the SDK.
try 'it builds' make -C src IMDSYS=cbe-gcc BIN_DIR="$built" CELLSDKLIB=. imd_nve_cbe

# What stopped others: riga needs libspucrypto, AKS-CBE needs libmpm, cellstream has assembly,
# CellBE-particle-system needs sockets, cell-image-evolving needs Magick++,
# CGD-Cell-BE-Apple-Identifier needs the library of C++, adaptive-search needs pipes,
# Tema-3-Cell-BTC has variables larger than a local store, and
# Arhitectura-Sistemelor-de-Calclul-Tema-4 uses buffers before their DMA has ended. cellifi lacks
# spu_tables.c.

echo 'davidoguns/raytracer'
# Its images are written by netpbm, of which this is the library.
fetch leahneukirchen netpbm-mirror d042c20fd7b04d8369c803936e1a95371f3055a7
netpbm=$PWD
mkdir netpbm
cp lib/*.h lib/util/*.h netpbm
cp pm_config.in.h netpbm/pm_config.h
echo '#include <inttypes.h>' >netpbm/inttypes_netpbm.h
echo '#define NETPBM_VERSION "super_stable"' >netpbm/version.h
touch netpbm/compile.h
for source in libpm pmfileio fileio colorname libpamd libpbm1 libpbm2 libpbm3 libpgm1 libpgm2 libppm1 libppm2 \
    libppmcmap libpnm1 libpnm2 libpnm3 libpam libpamread libpamwrite libpamn util/filename util/io \
    util/mallocvar util/nstring util/shhopt util/vasprintf util/token util/matrix; do
    ppu-gcc -O2 -w -std=gnu99 -DRGB_DB_PATH='""' -I. -Inetpbm -Ilib -Ilib/util -c lib/$source.c -o "${source##*/}.o"
done
ppu-ar rcs libnetpbm.a ./*.o
fetch davidoguns raytracer 2f9d1d6c68a529f0018aad22b791c8200269214f
# Six lines: addresses of the PPU have 32 bits here.
sed -i 's/unsigned long long\([[:space:]]*[a-z_]*_ea;\)/unsigned int\1/' spu/spe_program_info.h spu/scene.h spu/geometry.h
try 'spu builds' make -C spu
try 'ppu builds' make -C ppu INCLUDE="-I$netpbm/netpbm -I$netpbm" LDFLAGS="-L$netpbm -lnetpbm -lspe2"
cp pam_output/output.? .
try 'the serial program builds' ppu-gcc -I"$netpbm" color.c geometry.c main.c object3d.c output.c plane.c ray.c \
    raytrace.c scene.c vector4.c -o serial -L"$netpbm" -lnetpbm -lm
cellworks exec --dir . ./serial serial.ppm scene 64 48 1 2 >/dev/null
serial=$PWD/serial.ppm
cp spu/spu_raytrace ppu && cd ppu || exit 2
writes "$serial" out.ppm ./ppu_main out.ppm scene 64 48 1 2 4

echo 'grepwood/libspe2, tests'
fetch grepwood libspe2 ca4fdcce6029501ebac0cfb3ebb340d82d16d0a0
cd tests || exit 2
for set in basic run mfc event c99; do
    cd "libspe2.$set" || exit 2
    make -k >"$built/$set.log" 2>&1
    programs=$(make -n check 2>/dev/null | grep -o 'for p in [^;]*' | sed 's/for p in //')
    for program in $programs; do
        if [ -f "$program" ]; then
            for machine in host ps3; do
                # The scripts run a program that reads a file.
                sed -i "s|^loader=.*|loader=\"cellworks exec --machine $machine --dir . ./test_c99_main.elf\"|" ./*.sh
                case $program in
                *.sh) try "$set/$program on $machine" "./$program" ;;
                *) try "$set/$program on $machine" cellworks exec --machine $machine --dir . --dir /dev "./$program" ;;
                esac
            done
        else
            missing=$(make "$program" 2>&1 | grep -m 1 -E 'error: |uses' | cut -c 1-160)
            echo "  $set/$program: $missing"
        fi
    done
    cd ..
done
