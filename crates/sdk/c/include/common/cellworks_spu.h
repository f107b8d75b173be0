/* The intrinsics of an SPU over vectors, by their published names: spu_intrinsics.h for an SPU, and
 * spu2vmx.h for the PPU.
 *
 * Generic intrinsics (spu_*) are overloads for each type of vector. A scalar in place of a
 * vector is splatted.
 *
 * Where the SPU's arithmetic is not that of IEEE 754, these are (docs/cell-c.md):
 *
 * float: rounded to nearest, with infinities, NaN and denormals; an SPU truncates and has none
 * of them.
 *
 * double: as IEEE; an SPU's DFMA rounds once, and here the product of spu_madd and its relatives
 * is rounded first.
 *
 * spu_re, spu_rsqrte: the quotient, not an estimate of 12 bits; at 0 the largest number, not an
 * infinity.
 */
#ifndef __CELLWORKS_SPU_H__
#define __CELLWORKS_SPU_H__

#include <cellworks_vectors.h>

#ifdef __SPU__
typedef __vector signed char qword;
#else
typedef __vector unsigned char qword;
#endif

/* X(f, vector, scalar, vector for arithmetic, the unsigned one, type of its masks) for each
   type. */
#define __CW_EACH_INT(X, f) \
  X(f, vec_uchar16, unsigned char, __cw_u8, __cw_u8, vec_uchar16) \
  X(f, vec_char16, signed char, __cw_s8, __cw_u8, vec_uchar16) \
  __CW_EACH_HALF(X, f) __CW_EACH_WORD(X, f)
#define __CW_EACH_HALF(X, f) \
  X(f, vec_ushort8, unsigned short, __cw_u16, __cw_u16, vec_ushort8) \
  X(f, vec_short8, signed short, __cw_s16, __cw_u16, vec_ushort8)
#define __CW_EACH_WORD(X, f) \
  X(f, vec_uint4, unsigned int, __cw_u32, __cw_u32, vec_uint4) \
  X(f, vec_int4, signed int, __cw_s32, __cw_u32, vec_uint4)
#define __CW_EACH_LONG(X, f) \
  X(f, vec_ullong2, unsigned long long, __cw_u64, __cw_u64, vec_ullong2) \
  X(f, vec_llong2, signed long long, __cw_s64, __cw_u64, vec_ullong2)
#define __CW_EACH_REAL(X, f) \
  X(f, vec_float4, float, __cw_f32, __cw_u32, vec_uint4) \
  X(f, vec_double2, double, __cw_f64, __cw_u64, vec_ullong2)
#define __CW_EACH(X, f) __CW_EACH_INT(X, f) __CW_EACH_LONG(X, f) __CW_EACH_REAL(X, f)
#define __CW_ELEMENTS(V, E) (sizeof(V) / sizeof(E))
/* `s` in each element: of integers, or of an unsigned type. */
#define __CW_SPLAT(U, E, s) ((U){0} + (E)(s))

/* ---- Splats and single elements ---- */

__cw_overload vec_uchar16 spu_splats(unsigned char __s) { return (vec_uchar16)(__s); }
__cw_overload vec_uchar16 spu_splats(char __s) { return (vec_uchar16)(__s); }
__cw_overload vec_char16 spu_splats(signed char __s) { return (vec_char16)(__s); }
__cw_overload vec_ushort8 spu_splats(unsigned short __s) { return (vec_ushort8)(__s); }
__cw_overload vec_short8 spu_splats(signed short __s) { return (vec_short8)(__s); }
__cw_overload vec_uint4 spu_splats(unsigned int __s) { return (vec_uint4)(__s); }
__cw_overload vec_int4 spu_splats(signed int __s) { return (vec_int4)(__s); }
__cw_overload vec_uint4 spu_splats(unsigned long __s) { return (vec_uint4)((unsigned)__s); }
__cw_overload vec_int4 spu_splats(signed long __s) { return (vec_int4)((int)__s); }
__cw_overload vec_ullong2 spu_splats(unsigned long long __s) { return (vec_ullong2)(__s); }
__cw_overload vec_llong2 spu_splats(signed long long __s) { return (vec_llong2)(__s); }
__cw_overload vec_float4 spu_splats(float __s) { return (vec_float4)(__s); }
__cw_overload vec_double2 spu_splats(double __s) { return (vec_double2)(__s); }

/* The other elements of a promoted scalar are not defined; here all are the scalar. */
#define __CW_PROMOTE(E) \
  __cw_overload __typeof__(spu_splats((E)0)) spu_promote(E __s, int __at) { (void)__at; return spu_splats(__s); }
__CW_PROMOTE(unsigned char)
__CW_PROMOTE(char)
__CW_PROMOTE(signed char)
__CW_PROMOTE(unsigned short)
__CW_PROMOTE(signed short)
__CW_PROMOTE(unsigned int)
__CW_PROMOTE(signed int)
__CW_PROMOTE(unsigned long)
__CW_PROMOTE(signed long)
__CW_PROMOTE(unsigned long long)
__CW_PROMOTE(signed long long)
__CW_PROMOTE(float)
__CW_PROMOTE(double)

#define __CW_INSERT_OF(S, V, E) \
  __cw_overload V spu_insert(S __s, V __a, int __at) { \
    __a[__at & (__CW_ELEMENTS(V, E) - 1)] = (E)__s; \
    return __a; \
  }
/* Any type of scalar goes into any vector, so that the vector alone decides. */
#define __CW_ELEMENT(f, V, E, G, U, M) \
  __cw_overload E spu_extract(V __a, int __at) { return __a[__at & (__CW_ELEMENTS(V, E) - 1)]; } \
  __CW_INSERT_OF(int, V, E) \
  __CW_INSERT_OF(unsigned int, V, E) \
  __CW_INSERT_OF(long, V, E) \
  __CW_INSERT_OF(unsigned long, V, E) \
  __CW_INSERT_OF(long long, V, E) \
  __CW_INSERT_OF(unsigned long long, V, E) \
  __CW_INSERT_OF(float, V, E) \
  __CW_INSERT_OF(double, V, E)
__CW_EACH(__CW_ELEMENT, )

/* ---- Arithmetic ---- */

#define __CW_BINARY(name, f, V, E, G, U, M) \
  __cw_overload V name(V __a, V __b) { return (V)((G)__a f (G)__b); }
#define __CW_BINARY_SCALAR(name, f, V, E, G, U, M) \
  __cw_overload V name(V __a, int __b) { return (V)((U)__a f __CW_SPLAT(U, E, __b)); }

#define __CW_ADD(f, V, E, G, U, M) __CW_BINARY(spu_add, +, V, E, U, U, M) __CW_BINARY_SCALAR(spu_add, +, V, E, U, U, M)
__CW_EACH_HALF(__CW_ADD, )
__CW_EACH_WORD(__CW_ADD, )
#define __CW_SUB(f, V, E, G, U, M) \
  __CW_BINARY(spu_sub, -, V, E, U, U, M) \
  __CW_BINARY_SCALAR(spu_sub, -, V, E, U, U, M) \
  __cw_overload V spu_sub(int __a, V __b) { return (V)(__CW_SPLAT(U, E, __a) - (U)__b); }
__CW_EACH_HALF(__CW_SUB, )
__CW_EACH_WORD(__CW_SUB, )

#define __CW_REAL(f, V, E, G, U, M) \
  __CW_BINARY(spu_add, +, V, E, G, U, M) \
  __CW_BINARY(spu_sub, -, V, E, G, U, M) \
  __CW_BINARY(spu_mul, *, V, E, G, U, M) \
  __cw_overload V spu_madd(V __a, V __b, V __c) { return (V)((G)__a * (G)__b + (G)__c); } \
  __cw_overload V spu_msub(V __a, V __b, V __c) { return (V)((G)__a * (G)__b - (G)__c); } \
  __cw_overload V spu_nmsub(V __a, V __b, V __c) { return (V)((G)__c - (G)__a * (G)__b); } \
  __cw_overload V spu_nmadd(V __a, V __b, V __c) { return (V)(-((G)__a * (G)__b + (G)__c)); }
__CW_EACH_REAL(__CW_REAL, )

/* Carries and borrows: a borrow of 0 is one, as in the SPU's instructions. */
#define __CW_CARRY(f, V, E, G, U, M) \
  __cw_overload V spu_addx(V __a, V __b, V __c) { return (V)((U)__a + (U)__b + ((U)__c & 1)); } \
  __cw_overload V spu_subx(V __a, V __b, V __c) { return (V)((U)__a + ~(U)__b + ((U)__c & 1)); } \
  __cw_overload V spu_genc(V __a, V __b) { return (V)((U)((U)__a + (U)__b < (U)__a) & 1); } \
  __cw_overload V spu_genb(V __a, V __b) { return (V)((U)((U)__a >= (U)__b) & 1); } \
  __cw_overload V spu_gencx(V __a, V __b, V __c) { return (V)__cw_gencx((U)__a, (U)__b, (U)__c); } \
  __cw_overload V spu_genbx(V __a, V __b, V __c) { return (V)__cw_gencx((U)__a, ~(U)__b, (U)__c); }
__cw_inline __cw_u32 __cw_gencx(__cw_u32 __a, __cw_u32 __b, __cw_u32 __c) {
  __cw_u32 __sum = __a + __b, __one = __c & 1;
  return ((__cw_u32)(__sum < __a) | (__cw_u32)(__sum + __one < __sum)) & 1;
}
__CW_EACH_WORD(__CW_CARRY, )

/* Products of halfwords: the odd ones (the right halves of words) or the even ones. */
__cw_inline __cw_s32 __cw_odd(vec_short8 __a) { return (__cw_s32)__a << 16 >> 16; }
__cw_inline __cw_s32 __cw_even(vec_short8 __a) { return (__cw_s32)__a >> 16; }
__cw_inline __cw_u32 __cw_oddu(vec_ushort8 __a) { return (__cw_u32)__a & 0xffff; }
__cw_inline __cw_u32 __cw_evenu(vec_ushort8 __a) { return (__cw_u32)__a >> 16; }
__cw_overload vec_int4 spu_mulo(vec_short8 __a, vec_short8 __b) { return (vec_int4)(__cw_odd(__a) * __cw_odd(__b)); }
__cw_overload vec_int4 spu_mulo(vec_short8 __a, int __b) { return (vec_int4)(__cw_odd(__a) * (short)__b); }
__cw_overload vec_uint4 spu_mulo(vec_ushort8 __a, vec_ushort8 __b) {
  return (vec_uint4)(__cw_oddu(__a) * __cw_oddu(__b));
}
__cw_overload vec_uint4 spu_mulo(vec_ushort8 __a, int __b) {
  return (vec_uint4)(__cw_oddu(__a) * (unsigned)(unsigned short)__b);
}
__cw_overload vec_int4 spu_mule(vec_short8 __a, vec_short8 __b) { return (vec_int4)(__cw_even(__a) * __cw_even(__b)); }
__cw_overload vec_uint4 spu_mule(vec_ushort8 __a, vec_ushort8 __b) {
  return (vec_uint4)(__cw_evenu(__a) * __cw_evenu(__b));
}
__cw_overload vec_int4 spu_mulh(vec_short8 __a, vec_short8 __b) {
  return (vec_int4)((__cw_u32)(__cw_even(__a) * __cw_odd(__b)) << 16);
}
__cw_overload vec_int4 spu_mulsr(vec_short8 __a, vec_short8 __b) {
  return (vec_int4)(__cw_odd(__a) * __cw_odd(__b) >> 16);
}
__cw_overload vec_int4 spu_madd(vec_short8 __a, vec_short8 __b, vec_int4 __c) {
  return (vec_int4)((__cw_u32)(__cw_odd(__a) * __cw_odd(__b)) + (__cw_u32)__c);
}
__cw_overload vec_int4 spu_mhhadd(vec_short8 __a, vec_short8 __b, vec_int4 __c) {
  return (vec_int4)((__cw_u32)(__cw_even(__a) * __cw_even(__b)) + (__cw_u32)__c);
}
__cw_overload vec_uint4 spu_mhhadd(vec_ushort8 __a, vec_ushort8 __b, vec_uint4 __c) {
  return (vec_uint4)(__cw_evenu(__a) * __cw_evenu(__b) + (__cw_u32)__c);
}

/* Bytes. */
__cw_overload vec_uchar16 spu_absd(vec_uchar16 __a, vec_uchar16 __b) {
  __cw_u8 __x = (__cw_u8)__a, __y = (__cw_u8)__b, __less = (__cw_u8)(__x < __y);
  return (vec_uchar16)(((__x - __y) ^ __less) - __less);
}
__cw_overload vec_uchar16 spu_avg(vec_uchar16 __a, vec_uchar16 __b) {
  return (vec_uchar16)__cw_avgr8((__cw_u8)__a, (__cw_u8)__b);
}
__cw_inline __cw_u32 __cw_sum_bytes(vec_uchar16 __a) {
  __cw_u32 __w = (__cw_u32)__a;
  __w = (__w & 0x00ff00ff) + (__w >> 8 & 0x00ff00ff);
  return (__w + (__w >> 16)) & 0xffff;
}
__cw_overload vec_ushort8 spu_sumb(vec_uchar16 __a, vec_uchar16 __b) {
  return (vec_ushort8)(__cw_sum_bytes(__b) << 16 | __cw_sum_bytes(__a));
}
__cw_overload vec_uchar16 spu_cntb(vec_uchar16 __a) { return (vec_uchar16)__cw_ctpop8((__cw_u8)__a); }
__cw_overload vec_uchar16 spu_cntb(vec_char16 __a) { return (vec_uchar16)__cw_ctpop8((__cw_u8)__a); }
#define __CW_CNTLZ(V) \
  __cw_overload vec_uint4 spu_cntlz(V __a) { return (vec_uint4)__cw_ctlz32((__cw_u32)__a, 0); }
__CW_CNTLZ(vec_uint4)
__CW_CNTLZ(vec_int4)
__CW_CNTLZ(vec_float4)

/* Reciprocals: never an infinity, so that the usual refinement at 0 makes no NaN. */
__cw_overload vec_float4 spu_re(vec_float4 __a) {
  __cw_f32 __q = 1.0f / (__cw_f32)__a, __max = (__cw_f32){0} + 3.40282347e38f;
  __q = (__cw_f32)(((__cw_u32)__max & (__cw_u32)(__q > __max)) | ((__cw_u32)__q & ~(__cw_u32)(__q > __max)));
  return (vec_float4)(((__cw_u32)-__max & (__cw_u32)(__q < -__max)) | ((__cw_u32)__q & ~(__cw_u32)(__q < -__max)));
}
__cw_overload vec_float4 spu_rsqrte(vec_float4 __a) {
  __cw_f32 __q = 1.0f / __cw_sqrt32((__cw_f32)((__cw_u32)__a & 0x7fffffff)), __max = (__cw_f32){0} + 3.40282347e38f;
  return (vec_float4)(((__cw_u32)__max & (__cw_u32)(__q > __max)) | ((__cw_u32)__q & ~(__cw_u32)(__q > __max)));
}

/* ---- Conversions ---- */

__cw_overload vec_float4 spu_convtf(vec_int4 __a, int __scale) {
  return (vec_float4)(__builtin_convertvector((__cw_s32)__a, __cw_f32) * __cw_power2(-(__scale & 127)));
}
__cw_overload vec_float4 spu_convtf(vec_uint4 __a, int __scale) {
  return (vec_float4)(__builtin_convertvector((__cw_u32)__a, __cw_f32) * __cw_power2(-(__scale & 127)));
}
__cw_overload vec_int4 spu_convts(vec_float4 __a, int __scale) {
  return (vec_int4)__cw_trunc_s32((__cw_f32)__a * __cw_power2(__scale & 127));
}
__cw_overload vec_uint4 spu_convtu(vec_float4 __a, int __scale) {
  return (vec_uint4)__cw_trunc_u32((__cw_f32)__a * __cw_power2(__scale & 127));
}
__cw_overload vec_short8 spu_extend(vec_char16 __a) { return (vec_short8)((__cw_s16)__a << 8 >> 8); }
__cw_overload vec_int4 spu_extend(vec_short8 __a) { return (vec_int4)__cw_odd(__a); }
__cw_overload vec_llong2 spu_extend(vec_int4 __a) { return (vec_llong2)((__cw_s64)__a << 32 >> 32); }
__cw_overload vec_double2 spu_extend(vec_float4 __a) { return (vec_double2){__a[0], __a[2]}; }
__cw_overload vec_float4 spu_roundtf(vec_double2 __a) { return (vec_float4){(float)__a[0], 0, (float)__a[1], 0}; }

/* ---- Comparisons: all bits set, or none ---- */

#define __CW_COMPARE(name, f, V, E, G, U, M) \
  __cw_overload M name(V __a, V __b) { return (M)((G)__a f (G)__b); }
#define __CW_COMPARE_SCALAR(name, f, V, E, G, U, M) \
  __cw_overload M name(V __a, int __b) { return (M)((G)__a f __CW_SPLAT(G, E, __b)); }
#define __CW_CMP(f, V, E, G, U, M) \
  __CW_COMPARE(spu_cmpeq, ==, V, E, G, U, M) __CW_COMPARE(spu_cmpgt, >, V, E, G, U, M)
#define __CW_CMP_SCALAR(f, V, E, G, U, M) \
  __CW_COMPARE_SCALAR(spu_cmpeq, ==, V, E, G, U, M) __CW_COMPARE_SCALAR(spu_cmpgt, >, V, E, G, U, M)
__CW_EACH(__CW_CMP, )
__CW_EACH_INT(__CW_CMP_SCALAR, )
#define __CW_CMPABS(V, U, G, M, mask) \
  __cw_overload M spu_cmpabseq(V __a, V __b) { return (M)((G)((U)__a & mask) == (G)((U)__b & mask)); } \
  __cw_overload M spu_cmpabsgt(V __a, V __b) { return (M)((G)((U)__a & mask) > (G)((U)__b & mask)); }
__CW_CMPABS(vec_float4, __cw_u32, __cw_f32, vec_uint4, 0x7fffffff)
__CW_CMPABS(vec_double2, __cw_u64, __cw_f64, vec_ullong2, 0x7fffffffffffffff)

/* What spu_testsv looks for in a double. */
#define SPU_SV_NEG_DENORM 0x01
#define SPU_SV_POS_DENORM 0x02
#define SPU_SV_NEG_ZERO 0x04
#define SPU_SV_POS_ZERO 0x08
#define SPU_SV_NEG_INFINITY 0x10
#define SPU_SV_POS_INFINITY 0x20
#define SPU_SV_NAN 0x40
__cw_overload vec_ullong2 spu_testsv(vec_double2 __a, int __what) {
  __cw_u64 __sign = (__cw_u64)((__cw_s64)__a >> 63), __bits = (__cw_u64)__a & 0x7fffffffffffffff, __infinity = {0};
  __cw_u64 __found = {0}, __neg, __pos;
  __infinity += 0x7ff0000000000000;
#define __CW_TESTSV(condition, negative, positive) \
  __neg = (__cw_u64){0} - !!(__what & (negative)), __pos = (__cw_u64){0} - !!(__what & (positive)); \
  __found |= (__cw_u64)(condition) & ((__sign & __neg) | (~__sign & __pos));
  __CW_TESTSV(__bits == 0, SPU_SV_NEG_ZERO, SPU_SV_POS_ZERO)
  __CW_TESTSV((__cw_u64)(__bits != 0) & (__cw_u64)(__bits < 0x0010000000000000), SPU_SV_NEG_DENORM, SPU_SV_POS_DENORM)
  __CW_TESTSV(__bits == __infinity, SPU_SV_NEG_INFINITY, SPU_SV_POS_INFINITY)
  __CW_TESTSV(__bits > __infinity, SPU_SV_NAN, SPU_SV_NAN)
#undef __CW_TESTSV
  return (vec_ullong2)__found;
}

/* ---- Bits ---- */

#define __CW_LOGIC(name, f, V, E, G, U, M) \
  __cw_overload V name(V __x, V __y) { U __a = (U)__x, __b = (U)__y; return (V)(f); }
#define __CW_LOGIC_SCALAR(name, f, V, E, G, U, M) \
  __cw_overload V name(V __x, int __y) { U __a = (U)__x, __b = __CW_SPLAT(U, E, __y); return (V)(f); }
#define __CW_LOGICS(f, V, E, G, U, M) \
  __CW_LOGIC(spu_and, __a & __b, V, E, G, U, M) \
  __CW_LOGIC(spu_andc, __a & ~__b, V, E, G, U, M) \
  __CW_LOGIC(spu_eqv, ~(__a ^ __b), V, E, G, U, M) \
  __CW_LOGIC(spu_nand, ~(__a & __b), V, E, G, U, M) \
  __CW_LOGIC(spu_nor, ~(__a | __b), V, E, G, U, M) \
  __CW_LOGIC(spu_or, __a | __b, V, E, G, U, M) \
  __CW_LOGIC(spu_orc, __a | ~__b, V, E, G, U, M) \
  __CW_LOGIC(spu_xor, __a ^ __b, V, E, G, U, M) \
  __cw_overload V spu_sel(V __x, V __y, M __z) { \
    U __a = (U)__x, __b = (U)__y, __m = (U)__z; \
    return (V)((__a & ~__m) | (__b & __m)); \
  }
#define __CW_LOGICS_SCALAR(f, V, E, G, U, M) \
  __CW_LOGIC_SCALAR(spu_and, __a & __b, V, E, G, U, M) \
  __CW_LOGIC_SCALAR(spu_or, __a | __b, V, E, G, U, M) \
  __CW_LOGIC_SCALAR(spu_xor, __a ^ __b, V, E, G, U, M)
__CW_EACH(__CW_LOGICS, )
__CW_EACH_INT(__CW_LOGICS_SCALAR, )

#define __CW_ORX(f, V, E, G, U, M) \
  __cw_overload V spu_orx(V __a) { return (V){__a[0] | __a[1] | __a[2] | __a[3], 0, 0, 0}; }
__CW_EACH_WORD(__CW_ORX, )

/* The low bit of each element, the first element's as the highest bit, in word 0. */
__cw_overload vec_uint4 spu_gather(vec_uchar16 __a) {
  __cw_u8 __v = (__cw_u8)__a << 7;
  __v = __builtin_shufflevector(__v, __v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return (vec_uint4){(unsigned)__cw_bitmask8((__cw_s8)__v), 0, 0, 0};
}
__cw_overload vec_uint4 spu_gather(vec_ushort8 __a) {
  __cw_u16 __v = (__cw_u16)__a << 15;
  __v = __builtin_shufflevector(__v, __v, 7, 6, 5, 4, 3, 2, 1, 0);
  return (vec_uint4){(unsigned)__cw_bitmask16((__cw_s16)__v), 0, 0, 0};
}
__cw_overload vec_uint4 spu_gather(vec_uint4 __a) {
  __cw_u32 __v = (__cw_u32)__a << 31;
  __v = __builtin_shufflevector(__v, __v, 3, 2, 1, 0);
  return (vec_uint4){(unsigned)__cw_bitmask32((__cw_s32)__v), 0, 0, 0};
}
__cw_overload vec_uint4 spu_gather(vec_char16 __a) { return spu_gather((vec_uchar16)__a); }
__cw_overload vec_uint4 spu_gather(vec_short8 __a) { return spu_gather((vec_ushort8)__a); }
__cw_overload vec_uint4 spu_gather(vec_int4 __a) { return spu_gather((vec_uint4)__a); }
__cw_overload vec_uint4 spu_gather(vec_float4 __a) { return spu_gather((vec_uint4)__a); }

/* A mask from the low bits of a number, the highest bit for the first element. */
__cw_overload vec_uchar16 spu_maskb(unsigned __bits) {
  __cw_u8 __v = {0}, __bit = {128, 64, 32, 16, 8, 4, 2, 1, 128, 64, 32, 16, 8, 4, 2, 1};
  __v = __builtin_shufflevector(__v + (unsigned char)(__bits >> 8), __v + (unsigned char)__bits, 0, 1, 2, 3, 4, 5, 6, 7,
                                16, 17, 18, 19, 20, 21, 22, 23);
  return (vec_uchar16)((__v & __bit) == __bit);
}
__cw_overload vec_ushort8 spu_maskh(unsigned __bits) {
  __cw_u16 __bit = {128, 64, 32, 16, 8, 4, 2, 1};
  return (vec_ushort8)((__CW_SPLAT(__cw_u16, unsigned short, __bits) & __bit) == __bit);
}
__cw_overload vec_uint4 spu_maskw(unsigned __bits) {
  __cw_u32 __bit = {8, 4, 2, 1};
  return (vec_uint4)((__CW_SPLAT(__cw_u32, unsigned, __bits) & __bit) == __bit);
}

/* Byte n of the result is byte p[n] of the pair (a, b); 0x80 to 0xbf give 0, 0xc0 to 0xdf 0xff,
   0xe0 and more 0x80. */
__cw_inline __cw_u8 __cw_shuffle(__cw_u8 __a, __cw_u8 __b, __cw_u8 __p) {
  __cw_u8 __at = __p & 0x9f, __special = (__cw_u8)(__p > 0xbf) & ~((__cw_u8)(__p > 0xdf) & 0x7f);
  if (__builtin_constant_p(__p[0])) { /* of a known pattern, this form becomes one shuffle */
    __cw_u8 __second = (__cw_u8)((__p & 0x10) != 0), __plain = (__cw_u8)(__p < 0x80);
    __cw_u8 __r = (__cw_bytes(__b, __p & 15) & __second) | (__cw_bytes(__a, __p & 15) & ~__second);
    return (__r & __plain) | (__special & ~__plain);
  }
  return __cw_bytes(__a, __at) | __cw_bytes(__b, __at ^ 0x10) | __special;
}
#define __CW_SHUFFLE(f, V, E, G, U, M) \
  __cw_overload V spu_shuffle(V __a, V __b, vec_uchar16 __p) { \
    return (V)__cw_shuffle((__cw_u8)__a, (__cw_u8)__b, (__cw_u8)__p); \
  }
__CW_EACH(__CW_SHUFFLE, )

/* ---- Shifts and rotations of elements ---- */

/* Counts have one bit more than the width needs: that bit shifts everything out. rlmask and
 * rlmaska shift to the right by the negative of the count. */
#define __CW_SHIFTS(V, U, S, E, W, C) \
  __cw_overload V spu_rl(V __a, C __n) { \
    U __l = (U)__n & (W - 1); \
    return (V)((U)__a << __l | (U)__a >> ((W - __l) & (W - 1))); \
  } \
  __cw_overload V spu_sl(V __a, C __n) { return (V)(((U)__a << ((U)__n & (W - 1))) & (U)(((U)__n & W) == 0)); } \
  __cw_overload V spu_sr(V __a, C __n) { return (V)(((U)__a >> ((U)__n & (W - 1))) & (U)(((U)__n & W) == 0)); } \
  __cw_overload V spu_sra(V __a, C __n) { \
    U __out = (U)(((U)__n & W) != 0); \
    return (V)((S)__a >> (S)(((U)__n | __out) & (W - 1))); \
  } \
  __cw_overload V spu_rlmask(V __a, C __n) { return spu_sr(__a, (C)-(U)__n); } \
  __cw_overload V spu_rlmaska(V __a, C __n) { return spu_sra(__a, (C)-(U)__n); }
#define __CW_SHIFTS_SCALAR(V, U, S, E, W) \
  __cw_overload V spu_rl(V __a, int __n) { \
    return (V)((U)__a << __CW_SPLAT(U, E, __n & (W - 1)) | (U)__a >> __CW_SPLAT(U, E, -__n & (W - 1))); \
  } \
  __cw_overload V spu_sl(V __a, int __n) { \
    return (V)(__n & W ? (U){0} : (U)__a << __CW_SPLAT(U, E, __n & (W - 1))); \
  } \
  __cw_overload V spu_sr(V __a, int __n) { \
    return (V)(__n & W ? (U){0} : (U)__a >> __CW_SPLAT(U, E, __n & (W - 1))); \
  } \
  __cw_overload V spu_sra(V __a, int __n) { \
    return (V)((S)__a >> (S)__CW_SPLAT(U, E, __n & W ? W - 1 : __n & (W - 1))); \
  } \
  __cw_overload V spu_rlmask(V __a, int __n) { return spu_sr(__a, -__n); } \
  __cw_overload V spu_rlmaska(V __a, int __n) { return spu_sra(__a, -__n); } \
  __CW_SHIFTS(V, U, S, E, W, __CW_COUNTS_##W) \
  __CW_SHIFTS(V, U, S, E, W, __CW_COUNTU_##W)
#define __CW_COUNTS_16 vec_short8
#define __CW_COUNTU_16 vec_ushort8
#define __CW_COUNTS_32 vec_int4
#define __CW_COUNTU_32 vec_uint4
__CW_SHIFTS_SCALAR(vec_ushort8, __cw_u16, __cw_s16, unsigned short, 16)
__CW_SHIFTS_SCALAR(vec_short8, __cw_u16, __cw_s16, unsigned short, 16)
__CW_SHIFTS_SCALAR(vec_uint4, __cw_u32, __cw_s32, unsigned, 32)
__CW_SHIFTS_SCALAR(vec_int4, __cw_u32, __cw_s32, unsigned, 32)

/* ---- Shifts and rotations of the whole quadword ---- */

__cw_inline __cw_u8 __cw_slqwbyte(__cw_u8 __a, int __n) {
  return __cw_bytes(__a, __CW_BYTE_NUMBERS + (unsigned char)(__n & 31));
}
__cw_inline __cw_u8 __cw_srqwbyte(__cw_u8 __a, int __n) {
  return __cw_bytes(__a, __CW_BYTE_NUMBERS - (unsigned char)(__n & 31));
}
__cw_inline __cw_u8 __cw_rlqwbyte(__cw_u8 __a, int __n) {
  return __cw_bytes(__a, (__CW_BYTE_NUMBERS + (unsigned char)(__n & 15)) & 15);
}
__cw_inline __cw_u64 __cw_slqw(__cw_u64 __a, int __n) {
  __cw_u64 __low = __builtin_shufflevector(__a, (__cw_u64){0}, 1, 2);
  return __a << __CW_SPLAT(__cw_u64, unsigned, __n & 7) |
         (__low >> 1) >> __CW_SPLAT(__cw_u64, unsigned, 63 - (__n & 7));
}
__cw_inline __cw_u64 __cw_rlqw(__cw_u64 __a, int __n) {
  __cw_u64 __other = __builtin_shufflevector(__a, __a, 1, 0);
  return __a << __CW_SPLAT(__cw_u64, unsigned, __n & 7) |
         (__other >> 1) >> __CW_SPLAT(__cw_u64, unsigned, 63 - (__n & 7));
}
__cw_inline __cw_u64 __cw_srqw(__cw_u64 __a, int __n) {
  __cw_u64 __high = __builtin_shufflevector(__a, (__cw_u64){0}, 2, 0);
  return __a >> __CW_SPLAT(__cw_u64, unsigned, __n & 7) |
         (__high << 1) << __CW_SPLAT(__cw_u64, unsigned, 63 - (__n & 7));
}
/* The forms with `bc` count bytes by the bits above the lowest three. */
#define __CW_QUAD(f, V, E, G, U, M) \
  __cw_overload V spu_slqw(V __a, int __n) { return (V)__cw_slqw((__cw_u64)__a, __n); } \
  __cw_overload V spu_rlqw(V __a, int __n) { return (V)__cw_rlqw((__cw_u64)__a, __n); } \
  __cw_overload V spu_srqw(V __a, int __n) { return (V)__cw_srqw((__cw_u64)__a, __n); } \
  __cw_overload V spu_rlmaskqw(V __a, int __n) { return (V)__cw_srqw((__cw_u64)__a, -__n); } \
  __cw_overload V spu_slqwbyte(V __a, int __n) { return (V)__cw_slqwbyte((__cw_u8)__a, __n); } \
  __cw_overload V spu_rlqwbyte(V __a, int __n) { return (V)__cw_rlqwbyte((__cw_u8)__a, __n); } \
  __cw_overload V spu_srqwbyte(V __a, int __n) { return (V)__cw_srqwbyte((__cw_u8)__a, __n); } \
  __cw_overload V spu_rlmaskqwbyte(V __a, int __n) { return (V)__cw_srqwbyte((__cw_u8)__a, -__n); } \
  __cw_overload V spu_slqwbytebc(V __a, int __n) { return (V)__cw_slqwbyte((__cw_u8)__a, __n >> 3); } \
  __cw_overload V spu_rlqwbytebc(V __a, int __n) { return (V)__cw_rlqwbyte((__cw_u8)__a, __n >> 3); } \
  __cw_overload V spu_srqwbytebc(V __a, int __n) { return (V)__cw_srqwbyte((__cw_u8)__a, __n >> 3); } \
  __cw_overload V spu_rlmaskqwbytebc(V __a, int __n) { return (V)__cw_srqwbyte((__cw_u8)__a, -(__n >> 3)); }
__CW_EACH(__CW_QUAD, )

#endif
