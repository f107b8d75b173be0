/* Splats, single elements, literals, operators and casts. */
#include <spu_intrinsics.h>
#include "check.h"

#define ELEMENTS(f, V, E, bits) \
  static void elements_##V(void) { \
    int n; \
    TIMES(100) { \
      E s; \
      fill(&a), fill(&b), s = b.e_##V[0], n = round_ % (128 / bits); \
      ELEMENTWISE("spu_splats", V, V, 128 / bits, spu_splats(s), s) \
      got.V = spu_promote(s, n), want = got, want.e_##V[n] = s, check("spu_promote", #V); \
      ELEMENTWISE("spu_insert", V, V, 128 / bits, spu_insert(s, a.V, n), i == n ? s : a.e_##V[i]) \
      ELEMENTWISE("spu_insert of a literal", V, V, 128 / bits, spu_insert(7, a.V, 1), i == 1 ? 7 : a.e_##V[i]) \
      ELEMENTWISE("spu_insert of a literal", V, V, 128 / bits, spu_insert(7.0, a.V, 1), i == 1 ? 7 : a.e_##V[i]) \
      ELEMENTWISE("spu_extract", V, V, 128 / bits, spu_splats(spu_extract(a.V, n)), a.e_##V[n]) \
      ELEMENTWISE("spu_extract of the last", V, V, 128 / bits, spu_splats(spu_extract(a.V, 128 / bits - 1)), a.e_##V[128 / bits - 1]) \
      ELEMENTWISE("a subscript", V, V, 128 / bits, spu_splats(a.V[n]), a.e_##V[n]) \
      got = a, got.V[n] = s, want = a, want.e_##V[n] = s, check("a subscript that is written", #V); \
    } \
  }
EACH_INT(ELEMENTS, )
EACH_LONG(ELEMENTS, )

static void reals_(void) {
  int n;
  TIMES(100) {
    reals(&a, 0), reals(&b, 0), n = round_ % 4;
    ELEMENTWISE("spu_splats", float4, float4, 4, spu_splats(b.e_float4[0]), b.e_float4[0])
    ELEMENTWISE("spu_insert", float4, float4, 4, spu_insert(b.e_float4[0], a.float4, n), i == n ? b.e_float4[0] : a.e_float4[i])
    ELEMENTWISE("spu_insert of a literal", float4, float4, 4, spu_insert(1, a.float4, 2), i == 2 ? 1 : a.e_float4[i])
    ELEMENTWISE("spu_insert of a literal", float4, float4, 4, spu_insert(1.5, a.float4, 2), i == 2 ? 1.5f : a.e_float4[i])
    ELEMENTWISE("spu_extract", float4, float4, 4, spu_splats(spu_extract(a.float4, n)), a.e_float4[n])
    ELEMENTWISE("spu_promote", float4, float4, 4, spu_splats(spu_extract(spu_promote(a.e_float4[1], n), n)), a.e_float4[1])
    reals(&a, 1), reals(&b, 1), n = round_ % 2;
    ELEMENTWISE("spu_splats", double2, double2, 2, spu_splats(b.e_double2[0]), b.e_double2[0])
    ELEMENTWISE("spu_insert", double2, double2, 2, spu_insert(b.e_double2[0], a.double2, n), i == n ? b.e_double2[0] : a.e_double2[i])
    ELEMENTWISE("spu_extract", double2, double2, 2, spu_splats(spu_extract(a.double2, n)), a.e_double2[n])
    ELEMENTWISE("spu_promote", double2, double2, 2, spu_splats(spu_extract(spu_promote(a.e_double2[1], n), n)), a.e_double2[1])
  }
  ELEMENTWISE("spu_splats of a literal", double2, double2, 2, spu_splats(1.5), 1.5)
  ELEMENTWISE("spu_splats of a literal", float4, float4, 4, spu_splats(1.5f), 1.5f)
  ELEMENTWISE("spu_splats of a literal", int4, int4, 4, spu_splats(-3), -3)
  ELEMENTWISE("spu_splats of a char", uchar16, uchar16, 16, spu_splats((char)200), 200)
  ELEMENTWISE("spu_splats of a long", int4, int4, 4, spu_splats(-3L), -3)
}

/* Every way to write a vector, also before the program starts. */
static vector unsigned int splat = (vector unsigned int)(7);
static vector float numbers = (vector float)(1.0f, 2.0f, 3.0f, 4.0f);
static vector float braces = (vector float){1.0f, 2.0f, 3.0f, 4.0f};
static __vector signed short plain = {1, 2, 3, 4, 5, 6, 7, -8};
static const vector unsigned char text = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'};
static vector double doubles[2] = {{1.0, 2.0}, (vector double)(0.5)};
static vector signed long long longs = {-1, 0x0102030405060708LL};
static struct { char c; vector unsigned short v; } inside = {1, {1, 2, 3, 4, 5, 6, 7, 8}};
static vector unsigned char cast = (vector unsigned char)((vector unsigned int){0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f});

static vector float scaled(vector float v, float by) { return v * (vector float)(by); }

static void literals(void) {
  int one = 1;
  ELEMENTWISE("a splat in parentheses", uint4, uint4, 4, splat, 7)
  ELEMENTWISE("a splat of a variable", int4, int4, 4, (vector signed int)(one), 1)
  ELEMENTWISE("a splat of a variable", float4, float4, 4, scaled(numbers, 2.0f), 2.0f * (i + 1))
  ELEMENTWISE("a list in parentheses", float4, float4, 4, numbers, i + 1)
  ELEMENTWISE("a list in braces", float4, float4, 4, braces, i + 1)
  ELEMENTWISE("an initialiser", short8, short8, 8, plain, i == 7 ? -8 : i + 1)
  ELEMENTWISE("letters", uchar16, uchar16, 16, text, 'a' + i)
  ELEMENTWISE("doubles", double2, double2, 2, doubles[0], i + 1)
  ELEMENTWISE("doubles", double2, double2, 2, doubles[1], 0.5)
  ELEMENTWISE("longs", llong2, llong2, 2, longs, i ? 0x0102030405060708LL : -1)
  ELEMENTWISE("a vector in a structure", ushort8, ushort8, 8, inside.v, i + 1)
  ELEMENTWISE("a cast of a constant", uchar16, uchar16, 16, cast, i)
  ELEMENTWISE("a cast", uchar16, uchar16, 16, (vector unsigned char)splat, i % 4 == 3 ? 7 : 0)
  ELEMENTWISE("an array of a structure", uchar16, uchar16, 16, ((vector unsigned char *)&inside.v)[0], i % 2 ? i / 2 + 1 : 0)
}

static void operators(void) {
  TIMES(50) {
    fill(&a), fill(&b);
    ELEMENTWISE("a + b", uint4, uint4, 4, a.uint4 + b.uint4, a.e_uint4[i] + b.e_uint4[i])
    ELEMENTWISE("a - b", uchar16, uchar16, 16, a.uchar16 - b.uchar16, a.b[i] - b.b[i])
    ELEMENTWISE("a * b", ushort8, ushort8, 8, a.ushort8 * b.ushort8, (unsigned)a.e_ushort8[i] * b.e_ushort8[i])
    ELEMENTWISE("a & b", int4, int4, 4, a.int4 & b.int4, a.e_int4[i] & b.e_int4[i])
    ELEMENTWISE("a | b", int4, int4, 4, a.int4 | b.int4, a.e_int4[i] | b.e_int4[i])
    ELEMENTWISE("a ^ b", int4, int4, 4, a.int4 ^ b.int4, a.e_int4[i] ^ b.e_int4[i])
    ELEMENTWISE("~a", int4, int4, 4, ~a.int4, ~a.e_int4[i])
    ELEMENTWISE("-a", int4, int4, 4, -a.int4, (int)-a.e_uint4[i])
    ELEMENTWISE("a << 3", uint4, uint4, 4, a.uint4 << (vector unsigned int)(3), a.e_uint4[i] << 3)
    got = a, got.int4 += b.int4, want = a;
    for (i = 0; i < 4; i++) want.e_uint4[i] += b.e_uint4[i];
    check("a += b", "int4");
    reals(&a, 0), reals(&b, 0);
    ELEMENTWISE("a / b", float4, float4, 4, a.float4 / b.float4, a.e_float4[i] / b.e_float4[i])
    ELEMENTWISE("a * 2", float4, float4, 4, a.float4 * 2.0f, a.e_float4[i] * 2.0f)
  }
}

#define RUN(f, V, E, bits) f##_##V();
int main(void) {
  EACH_INT(RUN, elements)
  EACH_LONG(RUN, elements)
  reals_();
  literals();
  operators();
  return failures != 0;
}
