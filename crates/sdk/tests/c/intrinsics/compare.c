/* Comparisons of each type. */
#include <spu_intrinsics.h>
#include "check.h"

#define MASK_8 uchar16
#define MASK_16 ushort8
#define MASK_32 uint4
#define MASK_64 ullong2
#define COMPARE(intrinsic, V, bits, call, value) COMPARE_(intrinsic, V, MASK_##bits, 128 / bits, call, value)
#define COMPARE_(intrinsic, V, M, n, call, value) ELEMENTWISE(intrinsic, V, M, n, call, (value) ? -1 : 0)
#define A(V) a.e_##V[i]
#define B(V) b.e_##V[i]

#define ALL(f, V, E, bits) \
  static void all_##V(void) { \
    TIMES(200) { \
      if (#V[0] == 'f' || #V[0] == 'd') reals(&a, bits == 64), reals(&b, bits == 64); \
      else fill(&a), fill(&b); \
      for (i = 0; i < 128 / bits; i++) \
        if (number() & 1) b.e_##V[i] = a.e_##V[i]; \
      COMPARE("spu_cmpeq", V, bits, spu_cmpeq(a.V, b.V), A(V) == B(V)) \
      COMPARE("spu_cmpgt", V, bits, spu_cmpgt(a.V, b.V), A(V) > B(V)) \
    } \
  }
EACH(ALL, )

#define SCALARS(f, V, E, bits) \
  static void scalars_##V(void) { \
    E s; \
    TIMES(200) { \
      fill(&a), s = (E)(round_ % 2 ? a.e_##V[0] : number()); \
      COMPARE("spu_cmpeq with a scalar", V, bits, spu_cmpeq(a.V, s), A(V) == s) \
      COMPARE("spu_cmpgt with a scalar", V, bits, spu_cmpgt(a.V, s), A(V) > s) \
      COMPARE("spu_cmpgt with 100", V, bits, spu_cmpgt(a.V, 100), A(V) > 100) \
      COMPARE("spu_cmpeq with -1", V, bits, spu_cmpeq(a.V, -1), A(V) == (E)-1) \
    } \
  }
EACH_INT(SCALARS, )

#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
#define ABSOLUTE(f, V, E, bits) \
  static void absolute_##V(void) { \
    TIMES(200) { \
      reals(&a, bits == 64), reals(&b, bits == 64); \
      for (i = 0; i < 128 / bits; i++) \
        if (number() & 1) b.e_##V[i] = number() & 1 ? a.e_##V[i] : -a.e_##V[i]; \
      COMPARE("spu_cmpabseq", V, bits, spu_cmpabseq(a.V, b.V), MAGNITUDE(A(V)) == MAGNITUDE(B(V))) \
      COMPARE("spu_cmpabsgt", V, bits, spu_cmpabsgt(a.V, b.V), MAGNITUDE(A(V)) > MAGNITUDE(B(V))) \
    } \
  }
EACH_REAL(ABSOLUTE, )

static void classes(void) {
  static const struct { unsigned long long bits; int found; } of[] = {
      {0, SPU_SV_POS_ZERO},
      {0x8000000000000000, SPU_SV_NEG_ZERO},
      {1, SPU_SV_POS_DENORM},
      {0x800fffffffffffff, SPU_SV_NEG_DENORM},
      {0x0010000000000000, 0},
      {0x3ff0000000000000, 0},
      {0xffefffffffffffff, 0},
      {0x7ff0000000000000, SPU_SV_POS_INFINITY},
      {0xfff0000000000000, SPU_SV_NEG_INFINITY},
      {0x7ff8000000000000, SPU_SV_NAN},
      {0xfff0000000000001, SPU_SV_NAN},
  };
  int k, what;
  for (k = 0; k < 11; k++) {
    a.e_ullong2[0] = of[k].bits, a.e_ullong2[1] = of[(k + 1) % 11].bits;
    for (what = 0; what < 128; what++) {
      ELEMENTWISE("spu_testsv", double2, ullong2, 2, spu_testsv(a.double2, what), of[(k + i) % 11].found & what ? -1 : 0)
    }
  }
}

#define RUN(f, V, E, bits) f##_##V();
int main(void) {
  EACH(RUN, all)
  EACH_INT(RUN, scalars)
  EACH_REAL(RUN, absolute)
  classes();
  return failures != 0;
}
