/* Shifts and rotations, of elements and of quadwords. */
#include <spu_intrinsics.h>
#include "check.h"

static unsigned width_mask(int width) { return width == 32 ? 0xffffffffu : (1u << width) - 1; }
static unsigned left(unsigned x, int n, int width) {
  n &= 2 * width - 1;
  return n >= width ? 0 : (x << n) & width_mask(width);
}
static unsigned right(unsigned x, int n, int width) {
  n &= 2 * width - 1;
  return n >= width ? 0 : (x & width_mask(width)) >> n;
}
static unsigned right_signed(unsigned x, int n, int width) {
  long long s = width == 32 ? (int)x : (short)x;
  n &= 2 * width - 1;
  return (unsigned)(s >> (n >= width ? width - 1 : n)) & width_mask(width);
}
static unsigned rotated(unsigned x, int n, int width) {
  n &= width - 1;
  x &= width_mask(width);
  return n ? ((x << n) | (x >> (width - n))) & width_mask(width) : x;
}

#define COUNTS_16 short8
#define COUNTU_16 ushort8
#define COUNTS_32 int4
#define COUNTU_32 uint4
#define A (unsigned)a.e_##V[i]
#define ONE(intrinsic, V, E, bits, definition, sign) \
  ELEMENTWISE(#intrinsic, V, V, 128 / bits, intrinsic(a.V, b.COUNTS_##bits), (E)definition(a.e_##V[i], sign b.COUNT_##bits, bits)) \
  ELEMENTWISE(#intrinsic, V, V, 128 / bits, intrinsic(a.V, b.COUNTU_##bits), (E)definition(a.e_##V[i], sign b.COUNT_##bits, bits)) \
  ELEMENTWISE(#intrinsic " by a scalar", V, V, 128 / bits, intrinsic(a.V, n), (E)definition(a.e_##V[i], sign n, bits)) \
  ELEMENTWISE(#intrinsic " by 5", V, V, 128 / bits, intrinsic(a.V, 5), (E)definition(a.e_##V[i], sign 5, bits)) \
  ELEMENTWISE(#intrinsic " by -5", V, V, 128 / bits, intrinsic(a.V, -5), (E)definition(a.e_##V[i], -(sign 5), bits)) \
  ELEMENTWISE(#intrinsic " by 40", V, V, 128 / bits, intrinsic(a.V, 40u), (E)definition(a.e_##V[i], sign 40, bits))
#define COUNT_16 e_short8[i]
#define COUNT_32 e_int4[i]
#define SHIFTS(f, V, E, bits) \
  static void shifts_##V(void) { \
    int n; \
    TIMES(400) { \
      fill(&a), fill(&b), n = round_ - 200; \
      if (round_ % 2) \
        for (i = 0; i < 128 / bits; i++) b.COUNT_##bits = (int)(number() % 140) - 70; \
      ONE(spu_rl, V, E, bits, rotated, +) \
      ONE(spu_sl, V, E, bits, left, +) \
      ONE(spu_sr, V, E, bits, right, +) \
      ONE(spu_sra, V, E, bits, right_signed, +) \
      ONE(spu_rlmask, V, E, bits, right, -) \
      ONE(spu_rlmaska, V, E, bits, right_signed, -) \
    } \
  }
EACH_HALF(SHIFTS, )
EACH_WORD(SHIFTS, )

/* Bit n of a quadword, 0 beyond its ends. */
static int bit(int n) { return n < 0 || n > 127 ? 0 : a.b[n / 8] >> (7 - n % 8) & 1; }
/* Byte i of a quadword that was moved to the left by n bits, or rotated. */
static unsigned char moved(int n, int rotate) {
  int k, byte = 0;
  for (k = 0; k < 8; k++) byte = byte << 1 | bit(rotate ? (i * 8 + k + n) & 127 : i * 8 + k + n);
  return byte;
}

#define MOVE(intrinsic, V, call, bits, rotate) ELEMENTWISE(intrinsic, V, uchar16, 16, (vec_uchar16)(call), moved(bits, rotate))
#define QUADS(f, V, E, bits) \
  static void quads_##V(void) { \
    int n; \
    TIMES(300) { \
      fill(&a), n = round_ - 150; \
      MOVE("spu_slqw", V, spu_slqw(a.V, n), n & 7, 0) \
      MOVE("spu_slqwbyte", V, spu_slqwbyte(a.V, n), 8 * (n & 31), 0) \
      MOVE("spu_slqwbytebc", V, spu_slqwbytebc(a.V, n), 8 * (n >> 3 & 31), 0) \
      MOVE("spu_rlqw", V, spu_rlqw(a.V, n), n & 7, 1) \
      MOVE("spu_rlqwbyte", V, spu_rlqwbyte(a.V, n), 8 * (n & 15), 1) \
      MOVE("spu_rlqwbytebc", V, spu_rlqwbytebc(a.V, n), 8 * (n >> 3 & 15), 1) \
      MOVE("spu_rlmaskqw", V, spu_rlmaskqw(a.V, n), -(-n & 7), 0) \
      MOVE("spu_rlmaskqwbyte", V, spu_rlmaskqwbyte(a.V, n), -8 * (-n & 31), 0) \
      MOVE("spu_rlmaskqwbytebc", V, spu_rlmaskqwbytebc(a.V, n), -8 * (-(n >> 3) & 31), 0) \
      MOVE("spu_srqw", V, spu_srqw(a.V, n), -(n & 7), 0) \
      MOVE("spu_srqwbyte", V, spu_srqwbyte(a.V, n), -8 * (n & 31), 0) \
      MOVE("spu_srqwbytebc", V, spu_srqwbytebc(a.V, n), -8 * (n >> 3 & 31), 0) \
    } \
    MOVE("spu_slqwbyte by 4", V, spu_slqwbyte(a.V, 4), 32, 0) \
    MOVE("spu_rlqwbyte by 12", V, spu_rlqwbyte(a.V, 12), 96, 1) \
    MOVE("spu_rlmaskqwbyte by -3", V, spu_rlmaskqwbyte(a.V, -3), -24, 0) \
    MOVE("spu_slqw by 3", V, spu_slqw(a.V, 3), 3, 0) \
  }
EACH(QUADS, )

#define RUN(f, V, E, bits) f##_##V();
int main(void) {
  EACH_HALF(RUN, shifts)
  EACH_WORD(RUN, shifts)
  EACH(RUN, quads)
  return failures != 0;
}
