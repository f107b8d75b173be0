/* Sums, differences, products, carries and borrows, of each type that has them. */
#include <math.h>
#include <spu_intrinsics.h>
#include "check.h"

#define A(V) a.e_##V[i]
#define B(V) b.e_##V[i]
#define C(V) c.e_##V[i]

#define INTEGERS(f, V, E, bits) \
  static void integers_##V(void) { \
    int s; \
    TIMES(300) { \
      fill(&a), fill(&b), s = (int)number() >> (round_ % 31); \
      ELEMENTWISE("spu_add", V, V, 128 / bits, spu_add(a.V, b.V), (E)((unsigned)A(V) + (unsigned)B(V))) \
      ELEMENTWISE("spu_add with a scalar", V, V, 128 / bits, spu_add(a.V, s), (E)((unsigned)A(V) + (unsigned)s)) \
      ELEMENTWISE("spu_add with 3", V, V, 128 / bits, spu_add(a.V, (E)3), (E)((unsigned)A(V) + 3)) \
      ELEMENTWISE("spu_sub", V, V, 128 / bits, spu_sub(a.V, b.V), (E)((unsigned)A(V) - (unsigned)B(V))) \
      ELEMENTWISE("spu_sub from a scalar", V, V, 128 / bits, spu_sub(s, a.V), (E)((unsigned)s - (unsigned)A(V))) \
      ELEMENTWISE("+", V, V, 128 / bits, a.V + b.V, (E)((unsigned)A(V) + (unsigned)B(V))) \
      ELEMENTWISE("-", V, V, 128 / bits, a.V - b.V, (E)((unsigned)A(V) - (unsigned)B(V))) \
    } \
  }
EACH_HALF(INTEGERS, )
EACH_WORD(INTEGERS, )

#define WORDS(f, V, E, bits) \
  static void words_##V(void) { \
    TIMES(300) { \
      fill(&a), fill(&b), fill(&c); \
      if (round_ % 4 == 0) b = a; \
      ELEMENTWISE("spu_addx", V, V, 4, spu_addx(a.V, b.V, c.V), (E)((unsigned)A(V) + (unsigned)B(V) + ((unsigned)C(V) & 1))) \
      ELEMENTWISE("spu_subx", V, V, 4, spu_subx(a.V, b.V, c.V), \
                  (E)((unsigned)A(V) - (unsigned)B(V) - !((unsigned)C(V) & 1))) \
      ELEMENTWISE("spu_genc", V, V, 4, spu_genc(a.V, b.V), (E)(((unsigned long long)a.e_uint4[i] + b.e_uint4[i]) >> 32)) \
      ELEMENTWISE("spu_gencx", V, V, 4, spu_gencx(a.V, b.V, c.V), \
                  (E)(((unsigned long long)a.e_uint4[i] + b.e_uint4[i] + (c.e_uint4[i] & 1)) >> 32)) \
      ELEMENTWISE("spu_genb", V, V, 4, spu_genb(a.V, b.V), (E)(a.e_uint4[i] >= b.e_uint4[i])) \
      ELEMENTWISE("spu_genbx", V, V, 4, spu_genbx(a.V, b.V, c.V), \
                  (E)((c.e_uint4[i] & 1) ? a.e_uint4[i] >= b.e_uint4[i] : a.e_uint4[i] > b.e_uint4[i])) \
    } \
  }
EACH_WORD(WORDS, )

#define REALS(f, V, E, bits) \
  static void reals_##V(void) { \
    TIMES(300) { \
      reals(&a, bits == 64), reals(&b, bits == 64), reals(&c, bits == 64); \
      ELEMENTWISE("spu_add", V, V, 128 / bits, spu_add(a.V, b.V), A(V) + B(V)) \
      ELEMENTWISE("spu_sub", V, V, 128 / bits, spu_sub(a.V, b.V), A(V) - B(V)) \
      ELEMENTWISE("spu_mul", V, V, 128 / bits, spu_mul(a.V, b.V), A(V) * B(V)) \
      ELEMENTWISE("spu_madd", V, V, 128 / bits, spu_madd(a.V, b.V, c.V), A(V) * B(V) + C(V)) \
      ELEMENTWISE("spu_msub", V, V, 128 / bits, spu_msub(a.V, b.V, c.V), A(V) * B(V) - C(V)) \
      ELEMENTWISE("spu_nmsub", V, V, 128 / bits, spu_nmsub(a.V, b.V, c.V), C(V) - A(V) * B(V)) \
      ELEMENTWISE("spu_nmadd", V, V, 128 / bits, spu_nmadd(a.V, b.V, c.V), -(A(V) * B(V) + C(V))) \
      ELEMENTWISE("*", V, V, 128 / bits, a.V * b.V, A(V) * B(V)) \
    } \
  }
EACH_REAL(REALS, )

#define ODD(q, V) (q).e_##V[2 * i + 1]
#define EVEN(q, V) (q).e_##V[2 * i]
static void products(void) {
  int s;
  TIMES(300) {
    fill(&a), fill(&b), fill(&c), s = (int)number() >> 16;
    ELEMENTWISE("spu_mulo", short8, int4, 4, spu_mulo(a.short8, b.short8), ODD(a, short8) * ODD(b, short8))
    ELEMENTWISE("spu_mulo with a scalar", short8, int4, 4, spu_mulo(a.short8, (short)s), ODD(a, short8) * (short)s)
    ELEMENTWISE("spu_mulo", ushort8, uint4, 4, spu_mulo(a.ushort8, b.ushort8), (unsigned)ODD(a, ushort8) * ODD(b, ushort8))
    ELEMENTWISE("spu_mulo with a scalar", ushort8, uint4, 4, spu_mulo(a.ushort8, (unsigned short)s),
                (unsigned)ODD(a, ushort8) * (unsigned short)s)
    ELEMENTWISE("spu_mule", short8, int4, 4, spu_mule(a.short8, b.short8), EVEN(a, short8) * EVEN(b, short8))
    ELEMENTWISE("spu_mule", ushort8, uint4, 4, spu_mule(a.ushort8, b.ushort8), (unsigned)EVEN(a, ushort8) * EVEN(b, ushort8))
    ELEMENTWISE("spu_mulh", short8, int4, 4, spu_mulh(a.short8, b.short8),
                (int)((unsigned)(EVEN(a, short8) * ODD(b, short8)) << 16))
    ELEMENTWISE("spu_mulsr", short8, int4, 4, spu_mulsr(a.short8, b.short8), ODD(a, short8) * ODD(b, short8) >> 16)
    ELEMENTWISE("spu_madd", short8, int4, 4, spu_madd(a.short8, b.short8, c.int4),
                (int)((unsigned)(ODD(a, short8) * ODD(b, short8)) + c.e_uint4[i]))
    ELEMENTWISE("spu_mhhadd", short8, int4, 4, spu_mhhadd(a.short8, b.short8, c.int4),
                (int)((unsigned)(EVEN(a, short8) * EVEN(b, short8)) + c.e_uint4[i]))
    ELEMENTWISE("spu_mhhadd", ushort8, uint4, 4, spu_mhhadd(a.ushort8, b.ushort8, c.uint4),
                (unsigned)EVEN(a, ushort8) * EVEN(b, ushort8) + c.e_uint4[i])
    /* The usual product of words, from three of halfwords. */
    ELEMENTWISE("a product of words", int4, int4, 4,
                spu_add(spu_add(spu_mulh(a.short8, b.short8), spu_mulh(b.short8, a.short8)),
                        (vec_int4)spu_mulo(a.ushort8, b.ushort8)),
                (int)(a.e_uint4[i] * b.e_uint4[i]))
  }
}

static int ones(unsigned x) {
  int n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}

static int zeros(unsigned x) {
  int n = 32;
  for (; x; x >>= 1) n--;
  return n;
}

static void bytes(void) {
  TIMES(300) {
    fill(&a), fill(&b);
    if (round_ == 0) memset(&a, 0, 16);
    ELEMENTWISE("spu_absd", uchar16, uchar16, 16, spu_absd(a.uchar16, b.uchar16), a.b[i] > b.b[i] ? a.b[i] - b.b[i] : b.b[i] - a.b[i])
    ELEMENTWISE("spu_avg", uchar16, uchar16, 16, spu_avg(a.uchar16, b.uchar16), (a.b[i] + b.b[i] + 1) >> 1)
    ELEMENTWISE("spu_sumb", uchar16, ushort8, 8, spu_sumb(a.uchar16, b.uchar16),
                i % 2 ? a.b[2 * i - 2] + a.b[2 * i - 1] + a.b[2 * i] + a.b[2 * i + 1]
                      : b.b[2 * i] + b.b[2 * i + 1] + b.b[2 * i + 2] + b.b[2 * i + 3])
    ELEMENTWISE("spu_cntb", uchar16, uchar16, 16, spu_cntb(a.uchar16), ones(a.b[i]))
    ELEMENTWISE("spu_cntb", char16, uchar16, 16, spu_cntb(a.char16), ones(a.b[i]))
    a.e_uint4[0] >>= round_ % 32;
    ELEMENTWISE("spu_cntlz", uint4, uint4, 4, spu_cntlz(a.uint4), zeros(a.e_uint4[i]))
    ELEMENTWISE("spu_cntlz", int4, uint4, 4, spu_cntlz(a.int4), zeros(a.e_uint4[i]))
    ELEMENTWISE("spu_cntlz", float4, uint4, 4, spu_cntlz(a.float4), zeros(a.e_uint4[i]))
  }
}

static void reciprocals(void) {
  static const float largest = 3.40282347e38f;
  int k;
  TIMES(300) {
    reals(&a, 0);
    if (round_ == 0) a.float4 = (vec_float4){0.0f, -0.0f, 1e-42f, -1e-42f};
    for (k = 0; k < 4; k++) {
      float x = a.e_float4[k], q = 1.0f / x, r = 1.0f / sqrtf((x < 0 ? -x : x) + 0.0f);
      want.e_float4[k] = q > largest ? largest : q < -largest ? -largest : q;
      b.e_float4[k] = r > largest ? largest : r;
    }
    got.float4 = spu_re(a.float4);
    check("spu_re", "float4");
    want = b;
    got.float4 = spu_rsqrte(a.float4);
    check("spu_rsqrte", "float4");
  }
}

int main(void) {
  integers_ushort8(), integers_short8(), integers_uint4(), integers_int4();
  words_uint4(), words_int4();
  reals_float4(), reals_double2();
  products();
  bytes();
  reciprocals();
  return failures != 0;
}
