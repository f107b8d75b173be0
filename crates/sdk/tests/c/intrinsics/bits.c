/* Logic, selection, gathering and masks, and shuffles, of each type. */
#include <spu_intrinsics.h>
#include "check.h"

#define LOGIC(intrinsic, V, call, value) ELEMENTWISE(intrinsic, V, uchar16, 16, (vec_uchar16)(call), value)
#define X a.b[i]
#define Y b.b[i]

#define ALL(f, V, E, bits) \
  static void all_##V(void) { \
    TIMES(100) { \
      fill(&a), fill(&b); \
      LOGIC("spu_and", V, spu_and(a.V, b.V), X & Y) \
      LOGIC("spu_andc", V, spu_andc(a.V, b.V), X & ~Y) \
      LOGIC("spu_eqv", V, spu_eqv(a.V, b.V), ~(X ^ Y)) \
      LOGIC("spu_nand", V, spu_nand(a.V, b.V), ~(X & Y)) \
      LOGIC("spu_nor", V, spu_nor(a.V, b.V), ~(X | Y)) \
      LOGIC("spu_or", V, spu_or(a.V, b.V), X | Y) \
      LOGIC("spu_orc", V, spu_orc(a.V, b.V), X | ~Y) \
      LOGIC("spu_xor", V, spu_xor(a.V, b.V), X ^ Y) \
      for (i = 0; i < 16; i++) c.b[i] = number() % 2 ? number() % 32 : number(); \
      LOGIC("spu_shuffle", V, spu_shuffle(a.V, b.V, c.uchar16), shuffled(c.b[i])) \
    } \
  }
static unsigned char shuffled(unsigned p) {
  if (p >= 0xe0) return 0x80;
  if (p >= 0xc0) return 0xff;
  if (p >= 0x80) return 0;
  return p & 16 ? b.b[p & 15] : a.b[p & 15];
}
EACH(ALL, )

#define SCALARS(f, V, E, bits) \
  static void scalars_##V(void) { \
    int s, k; \
    TIMES(100) { \
      fill(&a), s = number(); \
      for (k = 0; k < 128 / bits; k++) b.e_##V[k] = (E)s; \
      LOGIC("spu_and with a scalar", V, spu_and(a.V, s), X & Y) \
      LOGIC("spu_or with a scalar", V, spu_or(a.V, (unsigned)s), X | Y) \
      LOGIC("spu_xor with a scalar", V, spu_xor(a.V, (E)s), X ^ Y) \
    } \
  }
EACH_INT(SCALARS, )

#define SELECT(f, V, E, bits) \
  static void select_##V(void) { \
    TIMES(100) { \
      fill(&a), fill(&b), fill(&c); \
      LOGIC("spu_sel", V, spu_sel(a.V, b.V, c.SELECT_##bits), (X & ~c.b[i]) | (Y & c.b[i])) \
    } \
  }
#define SELECT_8 uchar16
#define SELECT_16 ushort8
#define SELECT_32 uint4
#define SELECT_64 ullong2
EACH(SELECT, )

/* Patterns that the compiler knows. */
#define KNOWN(...) \
  c.uchar16 = (vec_uchar16){__VA_ARGS__}; \
  LOGIC("spu_shuffle with the constant " #__VA_ARGS__, uint4, spu_shuffle(a.uint4, b.uint4, ((vec_uchar16){__VA_ARGS__})), \
        shuffled(c.b[i])) \
  LOGIC("spu_shuffle with the constant " #__VA_ARGS__, uchar16, spu_shuffle(a.uchar16, b.uchar16, ((vec_uchar16){__VA_ARGS__})), \
        shuffled(c.b[i]))
static void known(void) {
  fill(&a), fill(&b);
  KNOWN(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
  KNOWN(0x80, 0, 0x80, 1, 0x80, 18, 0x80, 3, 0x80, 4, 0x80, 5, 0x80, 6, 0xbf, 7)
  KNOWN(0xc0, 0xdf, 0xe0, 0xff, 0x20, 0x31, 0x60, 0x7f, 1, 2, 3, 4, 31, 30, 29, 28)
  KNOWN(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
  KNOWN(0x80, 0x80, 0x80, 0x80, 0xe0, 0xe0, 0xe0, 0xe0, 0xc0, 0xc0, 0xc0, 0xc0, 0x80, 0x80, 0x80, 0x80)
}

static unsigned gathered(const char *type, int n) {
  unsigned bits = 0;
  int k;
  (void)type;
  for (k = 0; k < n; k++) bits = bits << 1 | (a.b[(k + 1) * (16 / n) - 1] & 1);
  return bits;
}

#define GATHER(f, V, E, bits) \
  TIMES(100) { \
    fill(&a); \
    ELEMENTWISE("spu_gather", V, uint4, 4, spu_gather(a.V), i ? 0 : gathered(#V, 128 / bits)) \
  }

static void gather_and_masks(void) {
  EACH_INT(GATHER, )
  GATHER(, float4, float, 32)
  TIMES(100) {
    unsigned n = number();
    ELEMENTWISE("spu_maskb", uchar16, uchar16, 16, spu_maskb(n), n >> (15 - i) & 1 ? 0xff : 0)
    ELEMENTWISE("spu_maskh", ushort8, ushort8, 8, spu_maskh(n), n >> (7 - i) & 1 ? 0xffff : 0)
    ELEMENTWISE("spu_maskw", uint4, uint4, 4, spu_maskw(n), n >> (3 - i) & 1 ? 0xffffffff : 0)
    ELEMENTWISE("spu_maskb of a short", uchar16, uchar16, 16, spu_maskb((short)n), n >> (15 - i) & 1 ? 0xff : 0)
    fill(&a);
    ELEMENTWISE("spu_orx", uint4, uint4, 4, spu_orx(a.uint4),
                i ? 0 : a.e_uint4[0] | a.e_uint4[1] | a.e_uint4[2] | a.e_uint4[3])
    ELEMENTWISE("spu_orx", int4, int4, 4, spu_orx(a.int4),
                i ? 0 : a.e_int4[0] | a.e_int4[1] | a.e_int4[2] | a.e_int4[3])
  }
}

/* Tests whether a word is not 0 decide a branch, a loop and a value. */
static void tests_of_words(void) {
  unsigned n;
  for (n = 0; n < 16; n++) {
    int turns = 0;
    vec_uint4 left = spu_and(spu_maskw(n), 3);
    fill(&a);
    a.uint4 = spu_and(spu_or(a.uint4, 64), spu_maskw(n));
    ELEMENTWISE("spu_orx in a value", int4, int4, 4, spu_splats(spu_extract(spu_orx(a.uint4), 0) ? 5 : 6), n ? 5 : 6)
    if ((spu_extract(a.int4, 0) | spu_extract(a.int4, 1) | spu_extract(a.int4, 2) | spu_extract(a.int4, 3)) == 0) {
      turns += 100;
      number();
    }
    while (spu_extract(spu_orx(left), 0)) {
      left = spu_sub(left, spu_and(spu_cmpgt(left, 0), 1));
      turns++;
    }
    ELEMENTWISE("tests of words", int4, int4, 4, spu_splats(turns), n ? 3 : 100)
  }
}

#define RUN(f, V, E, bits) f##_##V();
int main(void) {
  EACH(RUN, all)
  EACH_INT(RUN, scalars)
  EACH(RUN, select)
  known();
  gather_and_masks();
  tests_of_words();
  return failures != 0;
}
