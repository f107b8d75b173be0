/* Mathematical functions of vectors, by their published names, for both sides.
 *
 * A name ends in f4 for four floats, in d2 for two doubles, and in i4, u4, ll2 and ull2 for
 * integers. A name with an underscore in front is the same function. What is not one operation
 * of vectors calls the C library for each element.
 */
#ifndef __SIMDMATH_H__
#define __SIMDMATH_H__

#include <cellworks_vectors.h>
#ifdef __SPU__
#include <spu_intrinsics.h>
#else
#include <altivec.h>
#endif
#include <math.h>
#include <stdlib.h>

/* Numbers. */
#define SM_E 2.7182818284590452354
#define SM_LOG2E 1.4426950408889634074
#define SM_LOG10E 0.43429448190325182765
#define SM_LN2 0.69314718055994530942
#define SM_LN10 2.30258509299404568402
#define SM_PI 3.14159265358979323846
#define SM_PI_2 1.57079632679489661923
#define SM_PI_4 0.78539816339744830962
#define SM_1_PI 0.31830988618379067154
#define SM_2_PI 0.63661977236758134308
#define SM_2_SQRTPI 1.12837916709551257390
#define SM_SQRT2 1.41421356237309504880
#define SM_SQRT1_2 0.70710678118654752440

#define __CW_M static __inline__ __attribute__((__unused__, __nodebug__))

/* A function under both of its names. */
#define __CW_MATH(R, name, parameters, arguments, ...) \
  __CW_M R name parameters { __VA_ARGS__ } \
  __CW_M R _##name parameters { return name arguments; }
#define __CW_MATH1(name) \
  __CW_MATH(vec_float4, name##f4, (vec_float4 __x), (__x), \
            return (vec_float4){name##f(__x[0]), name##f(__x[1]), name##f(__x[2]), name##f(__x[3])};) \
  __CW_MATH(vec_double2, name##d2, (vec_double2 __x), (__x), return (vec_double2){name(__x[0]), name(__x[1])};)
#define __CW_MATH2(name) \
  __CW_MATH(vec_float4, name##f4, (vec_float4 __x, vec_float4 __y), (__x, __y), \
            return (vec_float4){name##f(__x[0], __y[0]), name##f(__x[1], __y[1]), name##f(__x[2], __y[2]), \
                                name##f(__x[3], __y[3])};) \
  __CW_MATH(vec_double2, name##d2, (vec_double2 __x, vec_double2 __y), (__x, __y), \
            return (vec_double2){name(__x[0], __y[0]), name(__x[1], __y[1])};)

__CW_MATH1(sin)
__CW_MATH1(cos)
__CW_MATH1(tan)
__CW_MATH1(asin)
__CW_MATH1(acos)
__CW_MATH1(atan)
__CW_MATH1(sinh)
__CW_MATH1(cosh)
__CW_MATH1(tanh)
__CW_MATH1(asinh)
__CW_MATH1(acosh)
__CW_MATH1(atanh)
__CW_MATH1(exp)
__CW_MATH1(exp2)
__CW_MATH1(expm1)
__CW_MATH1(log)
__CW_MATH1(log2)
__CW_MATH1(log10)
__CW_MATH1(log1p)
__CW_MATH1(logb)
__CW_MATH1(cbrt)
__CW_MATH1(erf)
__CW_MATH1(erfc)
__CW_MATH1(tgamma)
__CW_MATH1(lgamma)
__CW_MATH1(round)
__CW_MATH2(pow)
__CW_MATH2(fmod)
__CW_MATH2(remainder)
__CW_MATH2(atan2)
__CW_MATH2(hypot)
__CW_MATH2(fdim)
__CW_MATH2(nextafter)

/* One operation of vectors each. */
#define __CW_REAL1(suffix, V, G, name, expression) \
  __CW_MATH(V, name##suffix, (V __x), (__x), G __a = (G)__x; return (V)(expression);)
#define __CW_REAL2(suffix, V, G, name, expression) \
  __CW_MATH(V, name##suffix, (V __x, V __y), (__x, __y), G __a = (G)__x, __b = (G)__y; return (V)(expression);)
#define __CW_REALS(suffix, V, G, U, E, W, sign, width) \
  __CW_REAL1(suffix, V, G, fabs, (U)__a & ~sign) \
  __CW_REAL1(suffix, V, G, negate, (U)__a ^ sign) \
  __CW_REAL1(suffix, V, G, sqrt, __cw_sqrt##width(__a)) \
  __CW_REAL1(suffix, V, G, rsqrt, (E)1 / __cw_sqrt##width(__a)) \
  __CW_REAL1(suffix, V, G, recip, (E)1 / __a) \
  __CW_REAL1(suffix, V, G, floor, __cw_floor##width(__a)) \
  __CW_REAL1(suffix, V, G, ceil, __cw_ceil##width(__a)) \
  __CW_REAL1(suffix, V, G, trunc, __cw_truncf##width(__a)) \
  __CW_REAL1(suffix, V, G, rint, __cw_nearest##width(__a)) \
  __CW_REAL1(suffix, V, G, nearbyint, __cw_nearest##width(__a)) \
  __CW_REAL2(suffix, V, G, div, __a / __b) \
  __CW_REAL2(suffix, V, G, copysign, ((U)__a & ~sign) | ((U)__b & sign)) \
  __CW_REAL2(suffix, V, G, fmax, __cw_choose##width((U)(__a > __b) | (U)(__b != __b), (U)__a, (U)__b)) \
  __CW_REAL2(suffix, V, G, fmin, __cw_choose##width((U)(__a < __b) | (U)(__b != __b), (U)__a, (U)__b)) \
  __CW_MATH(V, fma##suffix, (V __x, V __y, V __z), (__x, __y, __z), return (V)((G)__x * (G)__y + (G)__z);) \
  __CW_MATH(W, isnan##suffix, (V __x), (__x), G __a = (G)__x; return (W)(__a != __a);) \
  __CW_MATH(W, isinf##suffix, (V __x), (__x), \
            return (W)((G)((U)__x & ~sign) == (G){0} + (E)__builtin_inf());) \
  __CW_MATH(W, isfinite##suffix, (V __x), (__x), G __a = (G)__x; return (W)(__a - __a == 0);) \
  __CW_MATH(W, is0denorm##suffix, (V __x), (__x), return (W)((G)((U)__x & ~sign) < (G){0} + __cw_least##width);) \
  __CW_MATH(W, isnormal##suffix, (V __x), (__x), G __a = (G)((U)__x & ~sign); \
            return (W)((W)(__a >= __cw_least##width) & (W)(__a - __a == 0));) \
  __CW_MATH(W, signbit##suffix, (V __x), (__x), return (W)(((U)__x & sign) != 0);) \
  __CW_COMPARISON(suffix, V, G, W, isequal, __a == __b) \
  __CW_COMPARISON(suffix, V, G, W, isgreater, __a > __b) \
  __CW_COMPARISON(suffix, V, G, W, isgreaterequal, __a >= __b) \
  __CW_COMPARISON(suffix, V, G, W, isless, __a < __b) \
  __CW_COMPARISON(suffix, V, G, W, islessequal, __a <= __b) \
  __CW_COMPARISON(suffix, V, G, W, islessgreater, (__a < __b) | (__a > __b)) \
  __CW_COMPARISON(suffix, V, G, W, isunordered, (__a != __a) | (__b != __b))
#define __CW_COMPARISON(suffix, V, G, W, name, expression) \
  __CW_MATH(W, name##suffix, (V __x, V __y), (__x, __y), G __a = (G)__x, __b = (G)__y; return (W)(expression);)
#define __cw_least32 1.17549435e-38f
#define __cw_least64 2.2250738585072014e-308
__cw_inline __cw_u32 __cw_choose32(__cw_u32 __first, __cw_u32 __a, __cw_u32 __b) {
  return (__a & __first) | (__b & ~__first);
}
__cw_inline __cw_u64 __cw_choose64(__cw_u64 __first, __cw_u64 __a, __cw_u64 __b) {
  return (__a & __first) | (__b & ~__first);
}
__CW_REALS(f4, vec_float4, __cw_f32, __cw_u32, float, vec_uint4, 0x80000000u, 32)
__CW_REALS(d2, vec_double2, __cw_f64, __cw_u64, double, vec_ullong2, 0x8000000000000000ull, 64)

/* Functions with more than one result, or with integers. */
__CW_MATH(void, sincosf4, (vec_float4 __x, vec_float4 *__s, vec_float4 *__c), (__x, __s, __c),
          *__s = sinf4(__x); *__c = cosf4(__x);)
__CW_MATH(void, sincosd2, (vec_double2 __x, vec_double2 *__s, vec_double2 *__c), (__x, __s, __c),
          *__s = sind2(__x); *__c = cosd2(__x);)
__CW_MATH(vec_float4, modff4, (vec_float4 __x, vec_float4 *__whole), (__x, __whole), *__whole = truncf4(__x); \
          return copysignf4((vec_float4)((__cw_f32)__x - (__cw_f32)*__whole), __x);)
__CW_MATH(vec_double2, modfd2, (vec_double2 __x, vec_double2 *__whole), (__x, __whole), *__whole = truncd2(__x); \
          return copysignd2((vec_double2)((__cw_f64)__x - (__cw_f64)*__whole), __x);)
__CW_MATH(vec_float4, frexpf4, (vec_float4 __x, vec_int4 *__power), (__x, __power), vec_float4 __r; int __n; \
          for (int __i = 0; __i < 4; __i++) __r[__i] = frexpf(__x[__i], &__n), (*__power)[__i] = __n; return __r;)
__CW_MATH(vec_double2, frexpd2, (vec_double2 __x, vec_llong2 *__power), (__x, __power), vec_double2 __r; int __n; \
          for (int __i = 0; __i < 2; __i++) __r[__i] = frexp(__x[__i], &__n), (*__power)[__i] = __n; return __r;)
__CW_MATH(vec_float4, ldexpf4, (vec_float4 __x, vec_int4 __n), (__x, __n), \
          return (vec_float4){ldexpf(__x[0], __n[0]), ldexpf(__x[1], __n[1]), ldexpf(__x[2], __n[2]), \
                              ldexpf(__x[3], __n[3])};)
__CW_MATH(vec_double2, ldexpd2, (vec_double2 __x, vec_llong2 __n), (__x, __n), \
          return (vec_double2){ldexp(__x[0], (int)__n[0]), ldexp(__x[1], (int)__n[1])};)
__CW_MATH(vec_float4, scalbnf4, (vec_float4 __x, vec_int4 __n), (__x, __n), return ldexpf4(__x, __n);)
__CW_MATH(vec_int4, ilogbf4, (vec_float4 __x), (__x), \
          return (vec_int4){ilogbf(__x[0]), ilogbf(__x[1]), ilogbf(__x[2]), ilogbf(__x[3])};)
__CW_MATH(vec_llong2, ilogbd2, (vec_double2 __x), (__x), return (vec_llong2){ilogb(__x[0]), ilogb(__x[1])};)
__CW_MATH(vec_int4, irintf4, (vec_float4 __x), (__x), return (vec_int4)__cw_trunc_s32(__cw_nearest32((__cw_f32)__x));)
__CW_MATH(vec_int4, iroundf4, (vec_float4 __x), (__x), return (vec_int4)__cw_trunc_s32((__cw_f32)roundf4(__x));)
__CW_MATH(vec_llong2, llrintd2, (vec_double2 __x), (__x), return (vec_llong2){llrint(__x[0]), llrint(__x[1])};)
__CW_MATH(vec_llong2, llroundd2, (vec_double2 __x), (__x), return (vec_llong2){llround(__x[0]), llround(__x[1])};)

/* The kinds of math.h: FP_NAN, FP_INFINITE, FP_ZERO, FP_SUBNORMAL and FP_NORMAL. */
__CW_MATH(vec_int4, fpclassifyf4, (vec_float4 __x), (__x), \
          return (vec_int4){fpclassify(__x[0]), fpclassify(__x[1]), fpclassify(__x[2]), fpclassify(__x[3])};)
__CW_MATH(vec_llong2, fpclassifyd2, (vec_double2 __x), (__x), \
          return (vec_llong2){fpclassify(__x[0]), fpclassify(__x[1])};)
__CW_MATH(vec_double2, scalbllnd2, (vec_double2 __x, vec_llong2 __n), (__x, __n), vec_double2 __r; \
          for (int __i = 0; __i < 2; __i++) \
            __r[__i] = ldexp(__x[__i], (int)(__n[__i] > 9999 ? 9999 : __n[__i] < -9999 ? -9999 : __n[__i])); \
          return __r;)
/* The remainders, and the lowest bits of the quotients with their signs. */
__CW_MATH(vec_float4, remquof4, (vec_float4 __x, vec_float4 __y, vec_int4 *__quotient), (__x, __y, __quotient), \
          vec_float4 __r; int __n; \
          for (int __i = 0; __i < 4; __i++) __r[__i] = remquof(__x[__i], __y[__i], &__n), (*__quotient)[__i] = __n; \
          return __r;)
__CW_MATH(vec_double2, remquod2, (vec_double2 __x, vec_double2 __y, vec_llong2 *__quotient), (__x, __y, __quotient), \
          vec_double2 __r; int __n; \
          for (int __i = 0; __i < 2; __i++) __r[__i] = remquo(__x[__i], __y[__i], &__n), (*__quotient)[__i] = __n; \
          return __r;)
/* Four integers of 64 bits. */
typedef struct llroundf4_s { vec_llong2 vll[2]; } llroundf4_t;
__CW_MATH(llroundf4_t, llrintf4, (vec_float4 __x), (__x), \
          return ((llroundf4_t){{(vec_llong2){llrintf(__x[0]), llrintf(__x[1])}, (vec_llong2){llrintf(__x[2]), llrintf(__x[3])}}});)
__CW_MATH(llroundf4_t, llroundf4, (vec_float4 __x), (__x), \
          return ((llroundf4_t){{(vec_llong2){llroundf(__x[0]), llroundf(__x[1])}, (vec_llong2){llroundf(__x[2]), llroundf(__x[3])}}});)

/* Names of functions that were faster on a Cell, and less exact or for fewer numbers. */
__CW_MATH(vec_float4, divf4_fast, (vec_float4 __x, vec_float4 __y), (__x, __y), return divf4(__x, __y);)
__CW_MATH(vec_float4, fmodf4_fast, (vec_float4 __x, vec_float4 __y), (__x, __y), return fmodf4(__x, __y);)
__CW_MATH(vec_float4, recipf4_fast, (vec_float4 __x), (__x), return recipf4(__x);)
__CW_MATH(vec_float4, sqrtf4_fast, (vec_float4 __x), (__x), return sqrtf4(__x);)
__CW_MATH(vec_float4, ceilf4_fast, (vec_float4 __x), (__x), return ceilf4(__x);)
__CW_MATH(vec_float4, floorf4_fast, (vec_float4 __x), (__x), return floorf4(__x);)

/* Integers. A division by 0 gives 0, and the dividend as remainder. */
typedef struct { vec_int4 quot, rem; } divi4_t;
typedef struct { vec_uint4 quot, rem; } divu4_t;
typedef struct { vec_llong2 quot, rem; } lldivi2_t;
typedef struct { vec_ullong2 quot, rem; } lldivu2_t;
__CW_MATH(vec_int4, absi4, (vec_int4 __x), (__x), __cw_s32 __a = (__cw_s32)__x, __s = __a >> 31; \
          return (vec_int4)((__a ^ __s) - __s);)
__CW_MATH(vec_int4, negatei4, (vec_int4 __x), (__x), return (vec_int4)-(__cw_s32)__x;)
__CW_MATH(vec_llong2, llabsi2, (vec_llong2 __x), (__x), __cw_s64 __a = (__cw_s64)__x, __s = __a >> 63; \
          return (vec_llong2)((__a ^ __s) - __s);)
__CW_MATH(vec_llong2, negatell2, (vec_llong2 __x), (__x), return (vec_llong2)-(__cw_s64)__x;)
#define __CW_DIVIDE(T, name, V, n, overflow) \
  __CW_MATH(T, name, (V __x, V __y), (__x, __y), T __r; for (int __i = 0; __i < n; __i++) { \
    __r.quot[__i] = __y[__i] == 0 ? 0 : overflow ? __x[__i] : __x[__i] / __y[__i]; \
    __r.rem[__i] = __y[__i] == 0 ? __x[__i] : overflow ? 0 : __x[__i] % __y[__i]; \
  } return __r;)
__CW_DIVIDE(divi4_t, divi4, vec_int4, 4, (__y[__i] == -1 && __x[__i] == -2147483647 - 1))
__CW_DIVIDE(divu4_t, divu4, vec_uint4, 4, 0)
__CW_DIVIDE(lldivi2_t, lldivi2, vec_llong2, 2, (__y[__i] == -1 && __x[__i] == -9223372036854775807ll - 1))
__CW_DIVIDE(lldivu2_t, lldivu2, vec_ullong2, 2, 0)

#endif
