/* Mathematical functions of vectors, and products of single vectors. */
#include <libvector.h>
#include <simdmath.h>
#include <simdmath/sqrtf4.h>
#include "check.h"

#define A(V) a.e_##V[i]
#define B(V) b.e_##V[i]
#define C(V) c.e_##V[i]

static void inputs(int is_double, int positive) {
  int k;
  reals(&a, is_double), reals(&b, is_double), reals(&c, is_double);
  for (k = 0; k < 4; k++) {
    if (!is_double) a.e_float4[k] /= 125, a.e_float4[k] = positive && a.e_float4[k] < 0 ? -a.e_float4[k] : a.e_float4[k];
    else if (k < 2) a.e_double2[k] /= 125, a.e_double2[k] = positive && a.e_double2[k] < 0 ? -a.e_double2[k] : a.e_double2[k];
  }
}

/* Functions of the C library, with one operand and with two. */
static const struct {
  const char *name;
  vec_float4 (*f4)(vec_float4), (*with_underscore)(vec_float4);
  float (*f)(float);
  vec_double2 (*d2)(vec_double2);
  double (*d)(double);
} of_one[] = {
#define ONE(name) {#name, name##f4, _##name##f4, name##f, name##d2, name},
    ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh)
    ONE(atanh) ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(logb) ONE(cbrt) ONE(erf)
    ONE(erfc) ONE(tgamma) ONE(lgamma) ONE(round)
};
static const struct {
  const char *name;
  vec_float4 (*f4)(vec_float4, vec_float4);
  float (*f)(float, float);
  vec_double2 (*d2)(vec_double2, vec_double2);
  double (*d)(double, double);
} of_two[] = {
#define TWO(name) {#name, name##f4, name##f, name##d2, name},
    TWO(pow) TWO(fmod) TWO(remainder) TWO(atan2) TWO(hypot) TWO(fdim) TWO(nextafter)
};

static void library(void) {
  unsigned k;
  TIMES(30) {
    for (k = 0; k < sizeof of_one / sizeof *of_one; k++) {
      inputs(0, 0);
      ELEMENTWISE(of_one[k].name, float4, float4, 4, of_one[k].f4(a.float4), of_one[k].f(A(float4)))
      ELEMENTWISE(of_one[k].name, float4, float4, 4, of_one[k].with_underscore(a.float4), of_one[k].f(A(float4)))
      inputs(1, 0);
      ELEMENTWISE(of_one[k].name, double2, double2, 2, of_one[k].d2(a.double2), of_one[k].d(A(double2)))
    }
    for (k = 0; k < sizeof of_two / sizeof *of_two; k++) {
      inputs(0, 1);
      ELEMENTWISE(of_two[k].name, float4, float4, 4, of_two[k].f4(a.float4, b.float4), of_two[k].f(A(float4), B(float4)))
      inputs(1, 1);
      ELEMENTWISE(of_two[k].name, double2, double2, 2, of_two[k].d2(a.double2, b.double2), of_two[k].d(A(double2), B(double2)))
    }
  }
}

static float floorf_(float x) { float t = (float)(int)x; return t > x ? t - 1 : t; }
static float rint_(float x) {
  float low = floorf_(x), d = x - low;
  return d < 0.5f || (d == 0.5f && (int)low % 2 == 0) ? low : low + 1;
}

/* Functions that are operations of vectors, of values that have no rounding. */
#define EACH_OF(V, E, n, s, W, U) \
  ELEMENTWISE("fabs" #s, V, V, n, fabs##s(a.V), A(V) < 0 ? -A(V) : A(V)) \
  ELEMENTWISE("negate" #s, V, V, n, negate##s(a.V), -A(V)) \
  ELEMENTWISE("div" #s, V, V, n, div##s(a.V, b.V), A(V) / B(V)) \
  ELEMENTWISE("_div" #s, V, V, n, _div##s(a.V, b.V), A(V) / B(V)) \
  ELEMENTWISE("recip" #s, V, V, n, recip##s(b.V), 1 / B(V)) \
  ELEMENTWISE("fma" #s, V, V, n, fma##s(a.V, b.V, c.V), A(V) * B(V) + C(V)) \
  ELEMENTWISE("fmax" #s, V, V, n, fmax##s(a.V, b.V), A(V) > B(V) ? A(V) : B(V)) \
  ELEMENTWISE("fmin" #s, V, V, n, fmin##s(a.V, b.V), A(V) < B(V) ? A(V) : B(V)) \
  ELEMENTWISE("floor" #s, V, V, n, (spu_like_zero(floor##s(a.V))), (E)floorf_((float)A(V))) \
  ELEMENTWISE("ceil" #s, V, V, n, (spu_like_zero(ceil##s(a.V))), (E)-floorf_((float)-A(V)) + 0) \
  ELEMENTWISE("trunc" #s, V, V, n, (spu_like_zero(trunc##s(a.V))), (E)(int)A(V)) \
  ELEMENTWISE("rint" #s, V, V, n, (spu_like_zero(rint##s(a.V))), (E)rint_((float)A(V)) + 0) \
  ELEMENTWISE("copysign" #s, V, V, n, copysign##s(a.V, b.V), (A(V) < 0) == (B(V) < 0) ? A(V) : -A(V)) \
  ELEMENTWISE("isequal" #s, V, U, n, isequal##s(a.V, b.V), A(V) == B(V) ? -1 : 0) \
  ELEMENTWISE("isgreater" #s, V, U, n, isgreater##s(a.V, b.V), A(V) > B(V) ? -1 : 0) \
  ELEMENTWISE("isless" #s, V, U, n, isless##s(a.V, b.V), A(V) < B(V) ? -1 : 0) \
  ELEMENTWISE("islessgreater" #s, V, U, n, islessgreater##s(a.V, b.V), A(V) != B(V) ? -1 : 0) \
  ELEMENTWISE("signbit" #s, V, U, n, signbit##s(a.V), A(V) < 0 ? -1 : 0)
#define spu_like_zero(v) ((v) + (__typeof__(v)){0})

static void operations(void) {
  int k;
  TIMES(100) {
    reals(&a, 0), reals(&b, 0), reals(&c, 0);
    for (k = 0; k < 4; k++) a.e_float4[k] += a.e_float4[k] == 0, b.e_float4[k] += b.e_float4[k] == 0;
    if (round_ & 1) b.e_float4[0] = a.e_float4[0];
    EACH_OF(float4, float, 4, f4, vec_uint4, uint4)
    ELEMENTWISE("irintf4", float4, int4, 4, irintf4(a.float4), (int)rint_(A(float4)))
    reals(&a, 1), reals(&b, 1), reals(&c, 1);
    for (k = 0; k < 2; k++) a.e_double2[k] += a.e_double2[k] == 0, b.e_double2[k] += b.e_double2[k] == 0;
    if (round_ & 1) b.e_double2[0] = a.e_double2[0];
    EACH_OF(double2, double, 2, d2, vec_ullong2, ullong2)
  }
  for (k = 0; k < 4; k++) b.e_float4[k] = (float)(k * k + 1), a.e_float4[k] = b.e_float4[k] * b.e_float4[k];
  ELEMENTWISE("sqrtf4", float4, float4, 4, sqrtf4(a.float4), B(float4))
  ELEMENTWISE("_sqrtf4", float4, float4, 4, _sqrtf4(a.float4), B(float4))
  ELEMENTWISE("rsqrtf4", float4, float4, 4, rsqrtf4(a.float4), 1 / B(float4))
  a.double2 = (vec_double2){9, 6.25};
  ELEMENTWISE("sqrtd2", double2, double2, 2, sqrtd2(a.double2), i ? 2.5 : 3)
}

static void classes(void) {
  static const unsigned bits[4] = {0x7f800000, 0xffc00000, 0x00000001, 0xbf800000};
  memcpy(&a, bits, 16);
  ELEMENTWISE("isnanf4", float4, uint4, 4, isnanf4(a.float4), i == 1 ? -1 : 0)
  ELEMENTWISE("isinff4", float4, uint4, 4, isinff4(a.float4), i == 0 ? -1 : 0)
  ELEMENTWISE("isfinitef4", float4, uint4, 4, isfinitef4(a.float4), i >= 2 ? -1 : 0)
  ELEMENTWISE("isnormalf4", float4, uint4, 4, isnormalf4(a.float4), i == 3 ? -1 : 0)
  ELEMENTWISE("is0denormf4", float4, uint4, 4, is0denormf4(a.float4), i == 2 ? -1 : 0)
  b.float4 = (vec_float4){1, 1, 1, 1};
  ELEMENTWISE("isunorderedf4", float4, uint4, 4, isunorderedf4(a.float4, b.float4), i == 1 ? -1 : 0)
}

static void several(void) {
  quad whole;
  TIMES(50) {
    int n = (int)(number() % 20) - 10;
    reals(&a, 0), reals(&b, 0);
    got.float4 = modff4(a.float4, &whole.float4);
    for (i = 0; i < 4; i++) want.e_float4[i] = A(float4) - (float)(int)A(float4), b.e_float4[i] = (float)(int)A(float4);
    got.float4 += (vec_float4)(0.0f), whole.float4 += (vec_float4)(0.0f), want.float4 += (vec_float4)(0.0f);
    check("modff4", "float4"), got = whole, want = b, want.float4 += (vec_float4)(0.0f), check("modff4's whole", "float4");
    ELEMENTWISE("ldexpf4 of frexpf4", float4, float4, 4, ldexpf4(frexpf4(a.float4, &whole.int4), whole.int4), A(float4))
    ELEMENTWISE("ldexpf4", float4, float4, 4, ldexpf4(a.float4, (vec_int4)(n)), n < 0 ? A(float4) / (1 << -n) : A(float4) * (1 << n))
    fill(&a), fill(&b), b.e_int4[3] = round_ & 1 ? 0 : -1, a.e_uint4[3] = 0x80000000;
    ELEMENTWISE("divi4", int4, int4, 4, divi4(a.int4, b.int4).quot, B(int4) == 0 ? 0 : (int)((long long)A(int4) / B(int4)))
    ELEMENTWISE("divi4's remainder", int4, int4, 4, divi4(a.int4, b.int4).rem, B(int4) == 0 ? A(int4) : (int)((long long)A(int4) % B(int4)))
    ELEMENTWISE("divu4", uint4, uint4, 4, divu4(a.uint4, b.uint4).quot, B(uint4) == 0 ? 0 : A(uint4) / B(uint4))
    ELEMENTWISE("absi4", int4, int4, 4, absi4(a.int4), (int)(A(int4) < 0 ? -a.e_uint4[i] : a.e_uint4[i]))
    ELEMENTWISE("negatei4", int4, int4, 4, negatei4(a.int4), (int)-a.e_uint4[i])
  }
}

/* Names of the SDK that others stand for, and results of other types. */
static void others(void) {
  quad n;
  llroundf4_t eight;
  TIMES(50) {
    reals(&a, 0), reals(&b, 0);
    for (i = 0; i < 4; i++) if (B(float4) == 0) b.e_float4[i] = 1;
    got.float4 = remquof4(a.float4, b.float4, &n.int4);
    for (i = 0; i < 4; i++) { int q; want.e_float4[i] = remquof(A(float4), B(float4), &q), c.e_int4[i] = q; }
    check("remquof4", "float4"), got = n, want = c, check("remquof4's quotient", "int4");
    eight = llroundf4(a.float4);
    ELEMENTWISE("llroundf4", float4, llong2, 2, eight.vll[1], llroundf(a.e_float4[2 + i]))
    eight = llrintf4(a.float4);
    ELEMENTWISE("llrintf4", float4, llong2, 2, eight.vll[0], llrintf(A(float4)))
    ELEMENTWISE("divf4_fast", float4, float4, 4, divf4_fast(a.float4, b.float4), A(float4) / B(float4))
    ELEMENTWISE("_floorf4_fast", float4, float4, 4, _floorf4_fast(a.float4), floorf(A(float4)))
    ELEMENTWISE("fmodf4_fast", float4, float4, 4, fmodf4_fast(a.float4, b.float4), fmodf(A(float4), B(float4)))
    reals(&a, 1), reals(&b, 1);
    ELEMENTWISE("scalbllnd2", double2, double2, 2, scalbllnd2(a.double2, (vec_llong2){3, -2}), A(double2) * (i ? 0.25 : 8))
    for (i = 0; i < 2; i++) if (B(double2) == 0) b.e_double2[i] = 1;
    ELEMENTWISE("remquod2", double2, double2, 2, remquod2(a.double2, b.double2, &n.llong2), remainder(A(double2), B(double2)))
  }
  a.float4 = (vec_float4){0, 1, __builtin_inff(), __builtin_nanf("")};
  ELEMENTWISE("fpclassifyf4", float4, int4, 4, fpclassifyf4(a.float4), fpclassify(A(float4)))
  a.double2 = (vec_double2){4e-324, 1};
  ELEMENTWISE("fpclassifyd2", double2, llong2, 2, fpclassifyd2(a.double2), fpclassify(A(double2)))
  ELEMENTWISE("SM_PI", float4, float4, 4, (vec_float4)((float)SM_PI), 3.14159274f)
}

/* A number as all elements, to be compared. */
#define NUMBER(intrinsic, call, value) ELEMENTWISE(intrinsic, float4, float4, 4, (vec_float4)(call), value)
static void vectors(void) {
  TIMES(50) {
    float *x = a.e_float4, *y = b.e_float4;
    reals(&a, 0), reals(&b, 0);
    NUMBER("load_vec_float4", load_vec_float4(1, 2, x[0], 4)[2], x[0])
    NUMBER("load_vec_int4", load_vec_int4(1, 2, 3, 4)[3], 4)
    NUMBER("lerp_vec", lerp_vec(a.float4, b.float4, (vec_float4){0.5f, 0, 0, 0})[0], x[0] + (y[0] - x[0]) * 0.5f)
    NUMBER("dot_product3", dot_product3(a.float4, b.float4), x[0] * y[0] + x[1] * y[1] + x[2] * y[2])
    NUMBER("_dot_product4", _dot_product4(a.float4, b.float4), x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3])
    NUMBER("sum_across_float3", sum_across_float3(a.float4), x[0] + x[1] + x[2])
    NUMBER("sum_across_float4", sum_across_float4(a.float4), x[0] + x[1] + x[2] + x[3])
    got.float4 = cross_product3(a.float4, b.float4);
    want.float4 = (vec_float4){x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0], 0};
    check("cross_product3", "float4");
  }
  {
    static vec_float4 m[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
    vec_float4 turned[4], one[4];
    a.float4 = (vec_float4){1, -2, 3, 5};
    NUMBER("max_vec_float3", max_vec_float3(a.float4), 3)
    NUMBER("min_vec_float4", min_vec_float4(a.float4), -2)
    NUMBER("max_vec_float4", _max_vec_float4(a.float4), 5)
    NUMBER("min_vec_int3", min_vec_int3((vec_int4){4, 3, 9, 1}), 3)
    NUMBER("max_vec_int4", max_vec_int4((vec_int4){4, 3, 9, 10}), 10)
    transpose_matrix4x4(turned, m), identity_matrix4x4(one);
    ELEMENTWISE("transpose_matrix4x4", float4, float4, 4, turned[1], 2 + 4 * i)
    ELEMENTWISE("identity_matrix4x4", float4, float4, 4, one[2], i == 2)
    ELEMENTWISE("xform_vec4", float4, float4, 4, xform_vec4(a.float4, m), m[0][i] - 2 * m[1][i] + 3 * m[2][i] + 5 * m[3][i])
    ELEMENTWISE("_xform_vec3", float4, float4, 4, _xform_vec3(a.float4, m), m[0][i] - 2 * m[1][i] + 3 * m[2][i] + m[3][i])
  }
  a.float4 = (vec_float4){4, 8, 1, 18}, b.float4 = (vec_float4){0, 1, 0, 0};
  NUMBER("length_vec3", length_vec3(a.float4), 9)
  NUMBER("inv_length_vec3", inv_length_vec3(a.float4), 1.0f / 9)
  ELEMENTWISE("normalize3", float4, float4, 4, normalize3(a.float4), A(float4) * (1.0f / 9))
  ELEMENTWISE("reflect_vec3", float4, float4, 4, reflect_vec3(a.float4, b.float4), i == 1 ? -8 : A(float4))
}

int main(void) {
  library();
  operations();
  classes();
  several();
  others();
  vectors();
  return failures != 0;
}
