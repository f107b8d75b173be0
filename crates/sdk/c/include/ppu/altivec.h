/* The vector intrinsics of the PPU (AltiVec, VMX), by their published names, as overloads for
 * each type of vector.
 *
 * Floats are those of IEEE 754: denormals are kept, and vec_re and vec_rsqrte give the quotient,
 * not an estimate. The saturation bit of the VSCR is not kept, and hints to caches do nothing.
 */
#ifndef __ALTIVEC_H
#define __ALTIVEC_H

#include <cellworks_vectors.h>

/* X(f, vector, scalar, vector for arithmetic, the unsigned one, the signed one, its vector of
   masks). */
#define __CW_EACH_BYTE(X, f) \
  X(f, vec_uchar16, unsigned char, __cw_u8, __cw_u8, __cw_s8, vec_bchar16) \
  X(f, vec_char16, signed char, __cw_s8, __cw_u8, __cw_s8, vec_bchar16)
#define __CW_EACH_HALF(X, f) \
  X(f, vec_ushort8, unsigned short, __cw_u16, __cw_u16, __cw_s16, vec_bshort8) \
  X(f, vec_short8, signed short, __cw_s16, __cw_u16, __cw_s16, vec_bshort8)
#define __CW_EACH_WORD(X, f) \
  X(f, vec_uint4, unsigned int, __cw_u32, __cw_u32, __cw_s32, vec_bint4) \
  X(f, vec_int4, signed int, __cw_s32, __cw_u32, __cw_s32, vec_bint4)
#define __CW_EACH_FLOAT(X, f) X(f, vec_float4, float, __cw_f32, __cw_u32, __cw_s32, vec_bint4)
#define __CW_EACH_BOOL(X, f) \
  X(f, vec_bchar16, unsigned char, __cw_u8, __cw_u8, __cw_s8, vec_bchar16) \
  X(f, vec_bshort8, unsigned short, __cw_u16, __cw_u16, __cw_s16, vec_bshort8) \
  X(f, vec_bint4, unsigned int, __cw_u32, __cw_u32, __cw_s32, vec_bint4)
#define __CW_EACH_INT(X, f) __CW_EACH_BYTE(X, f) __CW_EACH_HALF(X, f) __CW_EACH_WORD(X, f)
#define __CW_EACH(X, f) __CW_EACH_INT(X, f) __CW_EACH_FLOAT(X, f)
#define __CW_EACH_TOO(X, f) __CW_EACH(X, f) __CW_EACH_BOOL(X, f)

#define __CW_VEC1(R, name, V, G, expression) \
  __cw_overload R name(V __x) { G __a = (G)__x; return (R)(expression); }
#define __CW_VEC2(R, name, V, G, expression) \
  __cw_overload R name(V __x, V __y) { G __a = (G)__x, __b = (G)__y; return (R)(expression); }
#define __CW_VEC3(R, name, V, G, expression) \
  __cw_overload R name(V __x, V __y, V __z) { G __a = (G)__x, __b = (G)__y, __c = (G)__z; return (R)(expression); }
#define __CW_CHOOSE(U, mask, a, b) (((U)(a) & (U)(mask)) | ((U)(b) & ~(U)(mask)))

/* ---- Arithmetic ---- */

#define __CW_ARITHMETIC(f, V, E, G, U, S, B) \
  __CW_VEC2(V, vec_add, V, U, __a + __b) \
  __CW_VEC2(V, vec_sub, V, U, __a - __b) \
  __CW_VEC2(V, vec_max, V, G, __CW_CHOOSE(U, __a > __b, __a, __b)) \
  __CW_VEC2(V, vec_min, V, G, __CW_CHOOSE(U, __a < __b, __a, __b)) \
  __CW_VEC2(V, vec_avg, V, G, (__a | __b) - ((__a ^ __b) >> 1)) \
  __CW_VEC2(V, vec_adds, V, G, __cw_adds(__a, __b)) \
  __CW_VEC2(V, vec_subs, V, G, __cw_subs(__a, __b))
#ifdef __cplusplus
extern "C" {
#endif
extern __cw_u8 __cw_addsu8(__cw_u8, __cw_u8) __asm__("llvm.uadd.sat.v16i8");
extern __cw_s8 __cw_addss8(__cw_s8, __cw_s8) __asm__("llvm.sadd.sat.v16i8");
extern __cw_u16 __cw_addsu16(__cw_u16, __cw_u16) __asm__("llvm.uadd.sat.v8i16");
extern __cw_s16 __cw_addss16(__cw_s16, __cw_s16) __asm__("llvm.sadd.sat.v8i16");
extern __cw_u32 __cw_addsu32(__cw_u32, __cw_u32) __asm__("llvm.uadd.sat.v4i32");
extern __cw_s32 __cw_addss32(__cw_s32, __cw_s32) __asm__("llvm.sadd.sat.v4i32");
extern __cw_u8 __cw_subsu8(__cw_u8, __cw_u8) __asm__("llvm.usub.sat.v16i8");
extern __cw_s8 __cw_subss8(__cw_s8, __cw_s8) __asm__("llvm.ssub.sat.v16i8");
extern __cw_u16 __cw_subsu16(__cw_u16, __cw_u16) __asm__("llvm.usub.sat.v8i16");
extern __cw_s16 __cw_subss16(__cw_s16, __cw_s16) __asm__("llvm.ssub.sat.v8i16");
extern __cw_u32 __cw_subsu32(__cw_u32, __cw_u32) __asm__("llvm.usub.sat.v4i32");
extern __cw_s32 __cw_subss32(__cw_s32, __cw_s32) __asm__("llvm.ssub.sat.v4i32");
extern __cw_s8 __cw_narrow8(__cw_s16, __cw_s16) __asm__("llvm.wasm.narrow.signed.v16i8.v8i16");
extern __cw_u8 __cw_narrowu8(__cw_s16, __cw_s16) __asm__("llvm.wasm.narrow.unsigned.v16i8.v8i16");
extern __cw_s16 __cw_narrow16(__cw_s32, __cw_s32) __asm__("llvm.wasm.narrow.signed.v8i16.v4i32");
extern __cw_u16 __cw_narrowu16(__cw_s32, __cw_s32) __asm__("llvm.wasm.narrow.unsigned.v8i16.v4i32");
#ifdef __cplusplus
}
#endif
#define __CW_SATURATED(name) \
  __cw_overload __cw_u8 __cw_##name(__cw_u8 __a, __cw_u8 __b) { return __cw_##name##u8(__a, __b); } \
  __cw_overload __cw_s8 __cw_##name(__cw_s8 __a, __cw_s8 __b) { return __cw_##name##s8(__a, __b); } \
  __cw_overload __cw_u16 __cw_##name(__cw_u16 __a, __cw_u16 __b) { return __cw_##name##u16(__a, __b); } \
  __cw_overload __cw_s16 __cw_##name(__cw_s16 __a, __cw_s16 __b) { return __cw_##name##s16(__a, __b); } \
  __cw_overload __cw_u32 __cw_##name(__cw_u32 __a, __cw_u32 __b) { return __cw_##name##u32(__a, __b); } \
  __cw_overload __cw_s32 __cw_##name(__cw_s32 __a, __cw_s32 __b) { return __cw_##name##s32(__a, __b); }
__CW_SATURATED(adds)
__CW_SATURATED(subs)
__CW_EACH_INT(__CW_ARITHMETIC, )

#define __CW_ABSOLUTE(V, S, bits) \
  __CW_VEC1(V, vec_abs, V, S, (__a ^ (__a >> bits)) - (__a >> bits)) \
  __CW_VEC1(V, vec_abss, V, S, __cw_subs(__a ^ (__a >> bits), __a >> bits))
__CW_ABSOLUTE(vec_char16, __cw_s8, 7)
__CW_ABSOLUTE(vec_short8, __cw_s16, 15)
__CW_ABSOLUTE(vec_int4, __cw_s32, 31)
__CW_VEC2(vec_uint4, vec_addc, vec_uint4, __cw_u32, (__cw_u32)(__a + __b < __a) & 1)
__CW_VEC2(vec_uint4, vec_subc, vec_uint4, __cw_u32, (__cw_u32)(__a >= __b) & 1)

__CW_VEC2(vec_float4, vec_add, vec_float4, __cw_f32, __a + __b)
__CW_VEC2(vec_float4, vec_sub, vec_float4, __cw_f32, __a - __b)
__CW_VEC2(vec_float4, vec_max, vec_float4, __cw_f32, __CW_CHOOSE(__cw_u32, __a > __b, __a, __b))
__CW_VEC2(vec_float4, vec_min, vec_float4, __cw_f32, __CW_CHOOSE(__cw_u32, __a < __b, __a, __b))
__CW_VEC3(vec_float4, vec_madd, vec_float4, __cw_f32, __a * __b + __c)
__CW_VEC3(vec_float4, vec_nmsub, vec_float4, __cw_f32, __c - __a * __b)
__CW_VEC1(vec_float4, vec_abs, vec_float4, __cw_u32, __a & 0x7fffffff)
__CW_VEC1(vec_float4, vec_re, vec_float4, __cw_f32, 1.0f / __a)
__CW_VEC1(vec_float4, vec_rsqrte, vec_float4, __cw_f32, 1.0f / __cw_sqrt32(__a))
__CW_VEC1(vec_float4, vec_floor, vec_float4, __cw_f32, __cw_floor32(__a))
__CW_VEC1(vec_float4, vec_ceil, vec_float4, __cw_f32, __cw_ceil32(__a))
__CW_VEC1(vec_float4, vec_trunc, vec_float4, __cw_f32, __cw_truncf32(__a))
__CW_VEC1(vec_float4, vec_round, vec_float4, __cw_f32, __cw_nearest32(__a))
__cw_overload vec_float4 vec_expte(vec_float4 __a) {
  return (vec_float4){__builtin_exp2f(__a[0]), __builtin_exp2f(__a[1]), __builtin_exp2f(__a[2]), __builtin_exp2f(__a[3])};
}
__cw_overload vec_float4 vec_loge(vec_float4 __a) {
  return (vec_float4){__builtin_log2f(__a[0]), __builtin_log2f(__a[1]), __builtin_log2f(__a[2]), __builtin_log2f(__a[3])};
}

/* Products of halfwords and of bytes. */
__CW_VEC3(vec_short8, vec_mladd, vec_short8, __cw_u16, __a * __b + __c)
__CW_VEC3(vec_ushort8, vec_mladd, vec_ushort8, __cw_u16, __a * __b + __c)
#define __CW_PRODUCTS(R, V, W, shift) \
  __CW_VEC2(R, vec_mule, V, W, (__a >> shift) * (__b >> shift)) \
  __CW_VEC2(R, vec_mulo, V, W, (__a << shift >> shift) * (__b << shift >> shift))
__CW_PRODUCTS(vec_ushort8, vec_uchar16, __cw_u16, 8)
__CW_PRODUCTS(vec_short8, vec_char16, __cw_s16, 8)
__CW_PRODUCTS(vec_uint4, vec_ushort8, __cw_u32, 16)
__CW_PRODUCTS(vec_int4, vec_short8, __cw_s32, 16)
/* The halfwords of a * b, rounded or not, shifted to the right by 15 and added to c with
   saturation. */
__cw_inline vec_short8 __cw_madds(vec_short8 __a, vec_short8 __b, vec_short8 __c, int __round) {
  vec_short8 __r;
  for (int __i = 0; __i < 8; __i++) {
    int __n = ((__a[__i] * __b[__i] + __round) >> 15) + __c[__i];
    __r[__i] = (short)(__n > 32767 ? 32767 : __n < -32768 ? -32768 : __n);
  }
  return __r;
}
__cw_overload vec_short8 vec_madds(vec_short8 __a, vec_short8 __b, vec_short8 __c) { return __cw_madds(__a, __b, __c, 0); }
__cw_overload vec_short8 vec_mradds(vec_short8 __a, vec_short8 __b, vec_short8 __c) {
  return __cw_madds(__a, __b, __c, 0x4000);
}
/* Sums of the products within each word. */
__cw_overload vec_int4 vec_msum(vec_short8 __a, vec_short8 __b, vec_int4 __c) {
  return (vec_int4)((__cw_u32)vec_mule(__a, __b) + (__cw_u32)vec_mulo(__a, __b) + (__cw_u32)__c);
}
__cw_overload vec_uint4 vec_msum(vec_ushort8 __a, vec_ushort8 __b, vec_uint4 __c) {
  return (vec_uint4)((__cw_u32)vec_mule(__a, __b) + (__cw_u32)vec_mulo(__a, __b) + (__cw_u32)__c);
}
__cw_overload vec_uint4 vec_msum(vec_uchar16 __a, vec_uchar16 __b, vec_uint4 __c) {
  __cw_u32 __e = (__cw_u32)vec_mule(__a, __b), __o = (__cw_u32)vec_mulo(__a, __b);
  return (vec_uint4)((__e >> 16) + (__e & 0xffff) + (__o >> 16) + (__o & 0xffff) + (__cw_u32)__c);
}
__cw_overload vec_int4 vec_msum(vec_char16 __a, vec_uchar16 __b, vec_int4 __c) {
  __cw_s32 __x = (__cw_s32)__a, __y = (__cw_s32)__b;
  return (vec_int4)((__x >> 24) * ((__y >> 24) & 255) + (__x << 8 >> 24) * ((__y >> 16) & 255) +
                    (__x << 16 >> 24) * ((__y >> 8) & 255) + (__x << 24 >> 24) * (__y & 255) + (__cw_s32)__c);
}
/* Sums with saturation, one element at a time. */
__cw_inline int __cw_clamp(long long __n) {
  return (int)(__n > 2147483647 ? 2147483647 : __n < -2147483647ll - 1 ? -2147483647ll - 1 : __n);
}
__cw_inline unsigned __cw_clampu(unsigned long long __n) { return (unsigned)(__n > 0xffffffffull ? 0xffffffffull : __n); }
__cw_overload vec_int4 vec_msums(vec_short8 __a, vec_short8 __b, vec_int4 __c) {
  for (int __i = 0; __i < 4; __i++)
    __c[__i] = __cw_clamp((long long)__a[2 * __i] * __b[2 * __i] + (long long)__a[2 * __i + 1] * __b[2 * __i + 1] + __c[__i]);
  return __c;
}
__cw_overload vec_uint4 vec_msums(vec_ushort8 __a, vec_ushort8 __b, vec_uint4 __c) {
  for (int __i = 0; __i < 4; __i++)
    __c[__i] = __cw_clampu((unsigned long long)__a[2 * __i] * __b[2 * __i] +
                           (unsigned long long)__a[2 * __i + 1] * __b[2 * __i + 1] + __c[__i]);
  return __c;
}
__cw_overload vec_uint4 vec_sum4s(vec_uchar16 __a, vec_uint4 __b) {
  __cw_u32 __w = (__cw_u32)__a;
  return (vec_uint4)__cw_adds((__w >> 24) + (__w >> 16 & 255) + (__w >> 8 & 255) + (__w & 255), (__cw_u32)__b);
}
__cw_overload vec_int4 vec_sum4s(vec_char16 __a, vec_int4 __b) {
  __cw_s32 __w = (__cw_s32)__a;
  return (vec_int4)__cw_adds((__w >> 24) + (__w << 8 >> 24) + (__w << 16 >> 24) + (__w << 24 >> 24), (__cw_s32)__b);
}
__cw_overload vec_int4 vec_sum4s(vec_short8 __a, vec_int4 __b) {
  __cw_s32 __w = (__cw_s32)__a;
  return (vec_int4)__cw_adds((__w >> 16) + (__w << 16 >> 16), (__cw_s32)__b);
}
__cw_overload vec_int4 vec_sum2s(vec_int4 __a, vec_int4 __b) {
  return (vec_int4){0, __cw_clamp((long long)__a[0] + __a[1] + __b[1]), 0, __cw_clamp((long long)__a[2] + __a[3] + __b[3])};
}
__cw_overload vec_int4 vec_sums(vec_int4 __a, vec_int4 __b) {
  return (vec_int4){0, 0, 0, __cw_clamp((long long)__a[0] + __a[1] + __a[2] + __a[3] + __b[3])};
}

/* ---- Conversions of floats ---- */

__cw_inline float __cw_power2(int __power) { return __builtin_ldexpf(1.0f, __power); }
__cw_overload vec_float4 vec_ctf(vec_int4 __a, int __scale) {
  return (vec_float4)(__builtin_convertvector((__cw_s32)__a, __cw_f32) * __cw_power2(-(__scale & 31)));
}
__cw_overload vec_float4 vec_ctf(vec_uint4 __a, int __scale) {
  return (vec_float4)(__builtin_convertvector((__cw_u32)__a, __cw_f32) * __cw_power2(-(__scale & 31)));
}
__cw_overload vec_int4 vec_cts(vec_float4 __a, int __scale) {
  return (vec_int4)__cw_trunc_s32((__cw_f32)__a * __cw_power2(__scale & 31));
}
__cw_overload vec_uint4 vec_ctu(vec_float4 __a, int __scale) {
  return (vec_uint4)__cw_trunc_u32((__cw_f32)__a * __cw_power2(__scale & 31));
}

/* ---- Bits: a vector of masks may stand for one operand ---- */

#define __CW_LOGIC(V, name, U, X, Y, expression) \
  __cw_overload V name(X __x, Y __y) { U __a = (U)__x, __b = (U)__y; return (V)(expression); }
#define __CW_LOGICS(V, U, X, Y) \
  __CW_LOGIC(V, vec_and, U, X, Y, __a & __b) \
  __CW_LOGIC(V, vec_andc, U, X, Y, __a & ~__b) \
  __CW_LOGIC(V, vec_or, U, X, Y, __a | __b) \
  __CW_LOGIC(V, vec_xor, U, X, Y, __a ^ __b) \
  __CW_LOGIC(V, vec_nor, U, X, Y, ~(__a | __b))
#define __CW_LOGICS_WITH_MASKS(f, V, E, G, U, S, B) __CW_LOGICS(V, U, V, V) __CW_LOGICS(V, U, V, B) __CW_LOGICS(V, U, B, V)
#define __CW_LOGICS_OF_MASKS(f, V, E, G, U, S, B) __CW_LOGICS(V, U, V, V)
__CW_EACH(__CW_LOGICS_WITH_MASKS, )
__CW_EACH_BOOL(__CW_LOGICS_OF_MASKS, )

#define __CW_SELECT(V, U, M) \
  __cw_overload V vec_sel(V __x, V __y, M __z) { return (V)__CW_CHOOSE(U, __z, (U)__y, (U)__x); }
#define __CW_SELECTS(f, V, E, G, U, S, B) __CW_SELECT(V, U, B) __CW_SELECT(V, U, __CW_MASK_OF(U))
#define __CW_MASK_OF(U) __CW_MASK_OF_##U
#define __CW_MASK_OF___cw_u8 vec_uchar16
#define __CW_MASK_OF___cw_u16 vec_ushort8
#define __CW_MASK_OF___cw_u32 vec_uint4
__CW_EACH_TOO(__CW_SELECTS, )

/* ---- Shifts: counts are taken modulo the width ---- */

#define __CW_SHIFTS(V, U, S, C, W) \
  __cw_overload V vec_sl(V __x, C __y) { return (V)((U)__x << ((U)__y & (W - 1))); } \
  __cw_overload V vec_sr(V __x, C __y) { return (V)((U)__x >> ((U)__y & (W - 1))); } \
  __cw_overload V vec_sra(V __x, C __y) { return (V)((S)__x >> (S)((U)__y & (W - 1))); } \
  __cw_overload V vec_rl(V __x, C __y) { \
    U __a = (U)__x, __n = (U)__y & (W - 1); \
    return (V)(__a << __n | __a >> ((W - __n) & (W - 1))); \
  }
__CW_SHIFTS(vec_uchar16, __cw_u8, __cw_s8, vec_uchar16, 8)
__CW_SHIFTS(vec_char16, __cw_u8, __cw_s8, vec_uchar16, 8)
__CW_SHIFTS(vec_ushort8, __cw_u16, __cw_s16, vec_ushort8, 16)
__CW_SHIFTS(vec_short8, __cw_u16, __cw_s16, vec_ushort8, 16)
__CW_SHIFTS(vec_uint4, __cw_u32, __cw_s32, vec_uint4, 32)
__CW_SHIFTS(vec_int4, __cw_u32, __cw_s32, vec_uint4, 32)

/* Of the whole vector, by the last byte of b: its highest five bits count bytes, and its lowest
   three bits. */
#define __CW_LAST(b) ((unsigned char)((__cw_u8)(b))[15])
__cw_inline __cw_u8 __cw_sll(__cw_u8 __x, int __n) {
  __cw_u64 __a = (__cw_u64)__x, __low = __builtin_shufflevector(__a, (__cw_u64){0}, 1, 2);
  return (__cw_u8)(__a << ((__cw_u64){0} + (unsigned)__n) | (__low >> 1) >> ((__cw_u64){0} + (unsigned)(63 - __n)));
}
__cw_inline __cw_u8 __cw_srl(__cw_u8 __x, int __n) {
  __cw_u64 __a = (__cw_u64)__x, __high = __builtin_shufflevector(__a, (__cw_u64){0}, 2, 0);
  return (__cw_u8)(__a >> ((__cw_u64){0} + (unsigned)__n) | (__high << 1) << ((__cw_u64){0} + (unsigned)(63 - __n)));
}
#define __CW_WHOLE(V, C) \
  __cw_overload V vec_slo(V __x, C __y) { \
    return (V)__cw_bytes((__cw_u8)__x, __CW_BYTE_NUMBERS + (unsigned char)(__CW_LAST(__y) >> 3 & 15)); \
  } \
  __cw_overload V vec_sro(V __x, C __y) { \
    return (V)__cw_bytes((__cw_u8)__x, __CW_BYTE_NUMBERS - (unsigned char)(__CW_LAST(__y) >> 3 & 15)); \
  } \
  __cw_overload V vec_sll(V __x, C __y) { return (V)__cw_sll((__cw_u8)__x, __CW_LAST(__y) & 7); } \
  __cw_overload V vec_srl(V __x, C __y) { return (V)__cw_srl((__cw_u8)__x, __CW_LAST(__y) & 7); }
#define __CW_WHOLES(f, V, E, G, U, S, B) \
  __CW_WHOLE(V, vec_uchar16) __CW_WHOLE(V, vec_char16) __CW_WHOLE(V, vec_ushort8) __CW_WHOLE(V, vec_uint4)
__CW_EACH(__CW_WHOLES, )

/* ---- Permutations ---- */

/* Of a known pattern, this becomes one shuffle. */
__cw_inline __cw_u8 __cw_perm(__cw_u8 __a, __cw_u8 __b, __cw_u8 __p) {
  if (__builtin_constant_p(__p[0])) {
    __cw_u8 __second = (__cw_u8)((__p & 16) != 0);
    return (__cw_bytes(__b, __p & 15) & __second) | (__cw_bytes(__a, __p & 15) & ~__second);
  }
  return __cw_pair(__a, __b, __p);
}
#define __CW_PERMUTE(f, V, E, G, U, S, B) \
  __cw_overload V vec_perm(V __x, V __y, vec_uchar16 __p) { return (V)__cw_perm((__cw_u8)__x, (__cw_u8)__y, (__cw_u8)__p); } \
  __cw_overload V vec_sld(V __x, V __y, int __n) { \
    return (V)__cw_perm((__cw_u8)__x, (__cw_u8)__y, __CW_BYTE_NUMBERS + (unsigned char)(__n & 15)); \
  } \
  __cw_overload V vec_splat(V __x, int __n) { \
    U __a = (U)__x; \
    return (V)((U){0} + __a[__n & (16 / sizeof(E) - 1)]); \
  }
__CW_EACH_TOO(__CW_PERMUTE, )
#define __CW_MERGE(f, V, E, G, U, S, B) \
  __CW_VEC2(V, vec_mergeh, V, U, __cw_mergeh(__a, __b)) __CW_VEC2(V, vec_mergel, V, U, __cw_mergel(__a, __b))
#define __CW_MERGES(U, high, low) \
  __cw_overload U __cw_mergeh(U __a, U __b) { return __builtin_shufflevector(__a, __b, __CW_LIST high); } \
  __cw_overload U __cw_mergel(U __a, U __b) { return __builtin_shufflevector(__a, __b, __CW_LIST low); }
#define __CW_LIST(...) __VA_ARGS__
__CW_MERGES(__cw_u8, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
            (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
__CW_MERGES(__cw_u16, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
__CW_MERGES(__cw_u32, (0, 4, 1, 5), (2, 6, 3, 7))
__CW_EACH_TOO(__CW_MERGE, )

/* The lower halves of the elements of a, then those of b. */
#define __CW_PACK(R, V, N, ...) __CW_VEC2(R, vec_pack, V, N, __builtin_shufflevector(__a, __b, __VA_ARGS__))
#define __CW_PACK8(R, V) __CW_PACK(R, V, __cw_u8, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define __CW_PACK16(R, V) __CW_PACK(R, V, __cw_u16, 1, 3, 5, 7, 9, 11, 13, 15)
__CW_PACK8(vec_uchar16, vec_ushort8)
__CW_PACK8(vec_char16, vec_short8)
__CW_PACK8(vec_bchar16, vec_bshort8)
__CW_PACK16(vec_ushort8, vec_uint4)
__CW_PACK16(vec_short8, vec_int4)
__CW_PACK16(vec_bshort8, vec_bint4)
__CW_VEC2(vec_char16, vec_packs, vec_short8, __cw_s16, __cw_narrow8(__a, __b))
__CW_VEC2(vec_uchar16, vec_packsu, vec_short8, __cw_s16, __cw_narrowu8(__a, __b))
__CW_VEC2(vec_short8, vec_packs, vec_int4, __cw_s32, __cw_narrow16(__a, __b))
__CW_VEC2(vec_ushort8, vec_packsu, vec_int4, __cw_s32, __cw_narrowu16(__a, __b))
#define __CW_LEAST(U, S, a, limit) ((S)__CW_CHOOSE(U, (a) < limit, a, (U){0} + limit))
#define __CW_PACKU(name) \
  __CW_VEC2(vec_uchar16, name, vec_ushort8, __cw_u16, \
            __cw_narrowu8(__CW_LEAST(__cw_u16, __cw_s16, __a, 255), __CW_LEAST(__cw_u16, __cw_s16, __b, 255))) \
  __CW_VEC2(vec_ushort8, name, vec_uint4, __cw_u32, \
            __cw_narrowu16(__CW_LEAST(__cw_u32, __cw_s32, __a, 65535), __CW_LEAST(__cw_u32, __cw_s32, __b, 65535)))
__CW_PACKU(vec_packs)
__CW_PACKU(vec_packsu)
#define __CW_UNPACK(R, V, N, W, S, shift) \
  __cw_overload R vec_unpackh(V __x) { return (R)((S)__cw_mergeh((N)__x, (N){0}) >> shift); } \
  __cw_overload R vec_unpackl(V __x) { return (R)((S)__cw_mergel((N)__x, (N){0}) >> shift); }
__CW_UNPACK(vec_short8, vec_char16, __cw_u8, __cw_u16, __cw_s16, 8)
__CW_UNPACK(vec_bshort8, vec_bchar16, __cw_u8, __cw_u16, __cw_s16, 8)
__CW_UNPACK(vec_int4, vec_short8, __cw_u16, __cw_u32, __cw_s32, 16)
__CW_UNPACK(vec_bint4, vec_bshort8, __cw_u16, __cw_u32, __cw_s32, 16)

/* ---- Splats and single elements ---- */

#define vec_splat_s8(n) ((vec_char16)((signed char)(n)))
#define vec_splat_u8(n) ((vec_uchar16)((unsigned char)(n)))
#define vec_splat_s16(n) ((vec_short8)((short)(n)))
#define vec_splat_u16(n) ((vec_ushort8)((unsigned short)(n)))
#define vec_splat_s32(n) ((vec_int4)((int)(n)))
#define vec_splat_u32(n) ((vec_uint4)((unsigned)(n)))
#define __CW_ELEMENT(f, V, E, G, U, S, B) \
  __cw_overload V vec_splats(E __s) { return (V)(__s); } \
  __cw_overload V vec_promote(E __s, int __n) { (void)__n; return (V)(__s); } \
  __cw_overload E vec_extract(V __x, int __n) { return __x[__n & (16 / sizeof(E) - 1)]; } \
  __cw_overload V vec_insert(E __s, V __x, int __n) { __x[__n & (16 / sizeof(E) - 1)] = __s; return __x; }
__CW_EACH(__CW_ELEMENT, )
__cw_overload vec_uchar16 vec_splats(char __s) { return (vec_uchar16)(__s); }

/* ---- Memory: the lowest four bits of an address count as 0 ---- */

#define __CW_AT(V, offset, pointer) (*(V *)(((unsigned)(pointer) + (unsigned)(offset)) & -16u))
#define __CW_ELEMENT_AT(V, E, offset, pointer) (*(E *)(((unsigned)(pointer) + (unsigned)(offset)) & -(unsigned)sizeof(E)))
#define __CW_INDEX(E, offset, pointer) ((((unsigned)(pointer) + (unsigned)(offset)) & 15) / sizeof(E))
#define __CW_MEMORY_OF(V, P) \
  __cw_overload V vec_ld(int __o, const P *__p) { return __CW_AT(V, __o, __p); } \
  __cw_overload V vec_ldl(int __o, const P *__p) { return __CW_AT(V, __o, __p); } \
  __cw_overload void vec_st(V __x, int __o, P *__p) { __CW_AT(V, __o, __p) = __x; } \
  __cw_overload void vec_stl(V __x, int __o, P *__p) { __CW_AT(V, __o, __p) = __x; } \
  /* The bytes from an address to the end of its quadword, and those before it. */ \
  __cw_overload V vec_lvlx(int __o, const P *__p) { \
    unsigned __n = ((unsigned)__p + (unsigned)__o) & 15; \
    return (V)__cw_bytes((__cw_u8)__CW_AT(V, __o, __p), __CW_BYTE_NUMBERS + (unsigned char)__n); \
  } \
  __cw_overload V vec_lvrx(int __o, const P *__p) { \
    unsigned __n = ((unsigned)__p + (unsigned)__o) & 15; \
    return (V)__cw_bytes((__cw_u8)__CW_AT(V, __o, __p), __CW_BYTE_NUMBERS - (unsigned char)(16 - __n)); \
  } \
  __cw_overload V vec_lvlxl(int __o, const P *__p) { return vec_lvlx(__o, __p); } \
  __cw_overload V vec_lvrxl(int __o, const P *__p) { return vec_lvrx(__o, __p); } \
  __cw_overload void vec_stvlx(V __x, int __o, P *__p) { \
    unsigned char *__to = (unsigned char *)__p + __o; \
    __builtin_memcpy(__to, &__x, 16 - ((unsigned)__to & 15)); \
  } \
  __cw_overload void vec_stvrx(V __x, int __o, P *__p) { \
    unsigned char *__to = (unsigned char *)__p + __o; \
    unsigned __n = (unsigned)__to & 15; \
    __builtin_memcpy(__to - __n, (unsigned char *)&__x + 16 - __n, __n); \
  } \
  __cw_overload void vec_stvlxl(V __x, int __o, P *__p) { vec_stvlx(__x, __o, __p); } \
  __cw_overload void vec_stvrxl(V __x, int __o, P *__p) { vec_stvrx(__x, __o, __p); }
#define __CW_MEMORY(f, V, E, G, U, S, B) \
  __CW_MEMORY_OF(V, V) \
  __CW_MEMORY_OF(V, E) \
  __cw_overload V vec_lde(int __o, const E *__p) { \
    V __x = (V){0}; \
    __x[__CW_INDEX(E, __o, __p)] = __CW_ELEMENT_AT(V, E, __o, __p); \
    return __x; \
  } \
  __cw_overload void vec_ste(V __x, int __o, E *__p) { \
    __CW_ELEMENT_AT(V, E, __o, __p) = __x[__CW_INDEX(E, __o, __p)]; \
  }
__CW_EACH(__CW_MEMORY, )

/* Patterns of vec_perm that move what is not aligned. */
#define vec_lvsl(offset, pointer) \
  ((vec_uchar16)(__CW_BYTE_NUMBERS + (unsigned char)(((unsigned)(pointer) + (unsigned)(offset)) & 15)))
#define vec_lvsr(offset, pointer) \
  ((vec_uchar16)(__CW_BYTE_NUMBERS + (unsigned char)(16 - (((unsigned)(pointer) + (unsigned)(offset)) & 15))))

/* ---- Comparisons ---- */

#define __CW_ALL_TRUE(mask) (__cw_bitmask8((__cw_s8)(mask)) == 0xffff)
#define __CW_ANY_TRUE(mask) (__cw_bitmask8((__cw_s8)(mask)) != 0)
#define __CW_PREDICATE(name, V, G, U, op) \
  __cw_overload int vec_all_##name(V __a, V __b) { return __CW_ALL_TRUE((U)((G)__a op (G)__b)); } \
  __cw_overload int vec_any_##name(V __a, V __b) { return __CW_ANY_TRUE((U)((G)__a op (G)__b)); }
#define __CW_COMPARE(f, V, E, G, U, S, B) \
  __CW_VEC2(B, vec_cmpeq, V, G, __a == __b) \
  __CW_VEC2(B, vec_cmpgt, V, G, __a > __b) \
  __CW_VEC2(B, vec_cmpge, V, G, __a >= __b) \
  __CW_VEC2(B, vec_cmplt, V, G, __a < __b) \
  __CW_VEC2(B, vec_cmple, V, G, __a <= __b) \
  __CW_PREDICATE(eq, V, G, U, ==) \
  __CW_PREDICATE(ne, V, G, U, !=) \
  __CW_PREDICATE(gt, V, G, U, >) \
  __CW_PREDICATE(ge, V, G, U, >=) \
  __CW_PREDICATE(lt, V, G, U, <) \
  __CW_PREDICATE(le, V, G, U, <=)
__CW_EACH(__CW_COMPARE, )
#define __CW_COMPARE_MASKS(f, V, E, G, U, S, B) __CW_PREDICATE(eq, V, G, U, ==) __CW_PREDICATE(ne, V, G, U, !=)
__CW_EACH_BOOL(__CW_COMPARE_MASKS, )
/* Of floats: NaN, and comparisons that are not so. */
__cw_overload int vec_all_nan(vec_float4 __a) { return __CW_ALL_TRUE((__cw_f32)__a != (__cw_f32)__a); }
__cw_overload int vec_any_nan(vec_float4 __a) { return __CW_ANY_TRUE((__cw_f32)__a != (__cw_f32)__a); }
__cw_overload int vec_all_numeric(vec_float4 __a) { return !vec_any_nan(__a); }
__cw_overload int vec_any_numeric(vec_float4 __a) { return !vec_all_nan(__a); }
#define __CW_NEGATED(name) \
  __cw_overload int vec_all_n##name(vec_float4 __a, vec_float4 __b) { return !vec_any_##name(__a, __b); } \
  __cw_overload int vec_any_n##name(vec_float4 __a, vec_float4 __b) { return !vec_all_##name(__a, __b); }
__CW_NEGATED(gt)
__CW_NEGATED(ge)
__CW_NEGATED(lt)
__CW_NEGATED(le)
/* Bounds: the highest bit is set where a is above b, and the next one where it is below -b. */
__CW_VEC2(vec_int4, vec_cmpb, vec_float4, __cw_f32,
          ((__cw_u32)~(__a <= __b) & 0x80000000u) | ((__cw_u32)~(__a >= -__b) & 0x40000000u))
__cw_overload int vec_all_in(vec_float4 __a, vec_float4 __b) { return vec_all_eq(vec_cmpb(__a, __b), (vec_int4)(0)); }
__cw_overload int vec_any_out(vec_float4 __a, vec_float4 __b) { return !vec_all_in(__a, __b); }

/* ---- What has no effect here ---- */

#define vec_dss(stream) ((void)0)
#define vec_dssall() ((void)0)
#define vec_dst(pointer, control, stream) ((void)(pointer))
#define vec_dstt(pointer, control, stream) ((void)(pointer))
#define vec_dstst(pointer, control, stream) ((void)(pointer))
#define vec_dststt(pointer, control, stream) ((void)(pointer))
#define vec_mfvscr() ((vec_ushort8){0})
#define vec_mtvscr(value) ((void)(value))

#endif
