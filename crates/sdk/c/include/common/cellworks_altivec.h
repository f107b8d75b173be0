/* The vector intrinsics of the PPU (AltiVec, VMX), by their published names, as overloads for
 * each type of vector: altivec.h for the PPU, and vmx2spu.h for an SPU.
 *
 * Floats are those of IEEE 754: denormals are kept, and vec_re and vec_rsqrte give the quotient,
 * not an estimate. The saturation bit of the VSCR is not kept, and hints to caches do nothing.
 */
#ifndef __CELLWORKS_ALTIVEC_H__
#define __CELLWORKS_ALTIVEC_H__

#include <cellworks_vectors.h>

#ifdef __SPU__
typedef __vector __bool char vec_bchar16;
typedef __vector __bool short vec_bshort8;
typedef __vector __bool int vec_bint4;
typedef __vector __pixel vec_pixel8;
#endif

/* X(f, vector, scalar, vector for arithmetic, the unsigned one, the signed one, its vector of
   masks). */
#define __CWV_EACH_BYTE(X, f) \
  X(f, vec_uchar16, unsigned char, __cw_u8, __cw_u8, __cw_s8, vec_bchar16) \
  X(f, vec_char16, signed char, __cw_s8, __cw_u8, __cw_s8, vec_bchar16)
#define __CWV_EACH_HALF(X, f) \
  X(f, vec_ushort8, unsigned short, __cw_u16, __cw_u16, __cw_s16, vec_bshort8) \
  X(f, vec_short8, signed short, __cw_s16, __cw_u16, __cw_s16, vec_bshort8)
#define __CWV_EACH_WORD(X, f) \
  X(f, vec_uint4, unsigned int, __cw_u32, __cw_u32, __cw_s32, vec_bint4) \
  X(f, vec_int4, signed int, __cw_s32, __cw_u32, __cw_s32, vec_bint4)
#define __CWV_EACH_FLOAT(X, f) X(f, vec_float4, float, __cw_f32, __cw_u32, __cw_s32, vec_bint4)
#define __CWV_EACH_BOOL(X, f) \
  X(f, vec_bchar16, unsigned char, __cw_u8, __cw_u8, __cw_s8, vec_bchar16) \
  X(f, vec_bshort8, unsigned short, __cw_u16, __cw_u16, __cw_s16, vec_bshort8) \
  X(f, vec_bint4, unsigned int, __cw_u32, __cw_u32, __cw_s32, vec_bint4)
#define __CWV_EACH_INT(X, f) __CWV_EACH_BYTE(X, f) __CWV_EACH_HALF(X, f) __CWV_EACH_WORD(X, f)
#define __CWV_EACH(X, f) __CWV_EACH_INT(X, f) __CWV_EACH_FLOAT(X, f)
#define __CWV_EACH_TOO(X, f) __CWV_EACH(X, f) __CWV_EACH_BOOL(X, f)
#define __CWV_PIXEL(X, f) X(f, vec_pixel8, unsigned short, __cw_u16, __cw_u16, __cw_s16, vec_bshort8)

#define __CWV_VEC1(R, name, V, G, expression) \
  __cw_overload R name(V __x) { G __a = (G)__x; return (R)(expression); }
#define __CWV_VEC2(R, name, V, G, expression) \
  __cw_overload R name(V __x, V __y) { G __a = (G)__x, __b = (G)__y; return (R)(expression); }
#define __CWV_VEC3(R, name, V, G, expression) \
  __cw_overload R name(V __x, V __y, V __z) { G __a = (G)__x, __b = (G)__y, __c = (G)__z; return (R)(expression); }
#define __CWV_CHOOSE(U, mask, a, b) (((U)(a) & (U)(mask)) | ((U)(b) & ~(U)(mask)))

/* ---- Arithmetic ---- */

#define __CWV_ARITHMETIC(f, V, E, G, U, S, B) \
  __CWV_VEC2(V, vec_add, V, U, __a + __b) \
  __CWV_VEC2(V, vec_sub, V, U, __a - __b) \
  __CWV_VEC2(V, vec_max, V, G, __CWV_CHOOSE(U, __a > __b, __a, __b)) \
  __CWV_VEC2(V, vec_min, V, G, __CWV_CHOOSE(U, __a < __b, __a, __b)) \
  __CWV_VEC2(V, vec_avg, V, G, (__a | __b) - ((__a ^ __b) >> 1)) \
  __CWV_VEC2(V, vec_adds, V, G, __cw_adds(__a, __b)) \
  __CWV_VEC2(V, vec_subs, V, G, __cw_subs(__a, __b))
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
#define __CWV_SATURATED(name) \
  __cw_overload __cw_u8 __cw_##name(__cw_u8 __a, __cw_u8 __b) { return __cw_##name##u8(__a, __b); } \
  __cw_overload __cw_s8 __cw_##name(__cw_s8 __a, __cw_s8 __b) { return __cw_##name##s8(__a, __b); } \
  __cw_overload __cw_u16 __cw_##name(__cw_u16 __a, __cw_u16 __b) { return __cw_##name##u16(__a, __b); } \
  __cw_overload __cw_s16 __cw_##name(__cw_s16 __a, __cw_s16 __b) { return __cw_##name##s16(__a, __b); } \
  __cw_overload __cw_u32 __cw_##name(__cw_u32 __a, __cw_u32 __b) { return __cw_##name##u32(__a, __b); } \
  __cw_overload __cw_s32 __cw_##name(__cw_s32 __a, __cw_s32 __b) { return __cw_##name##s32(__a, __b); }
__CWV_SATURATED(adds)
__CWV_SATURATED(subs)
__CWV_EACH_INT(__CWV_ARITHMETIC, )

#define __CWV_ABSOLUTE(V, S, bits) \
  __CWV_VEC1(V, vec_abs, V, S, (__a ^ (__a >> bits)) - (__a >> bits)) \
  __CWV_VEC1(V, vec_abss, V, S, __cw_subs(__a ^ (__a >> bits), __a >> bits))
__CWV_ABSOLUTE(vec_char16, __cw_s8, 7)
__CWV_ABSOLUTE(vec_short8, __cw_s16, 15)
__CWV_ABSOLUTE(vec_int4, __cw_s32, 31)
__CWV_VEC2(vec_uint4, vec_addc, vec_uint4, __cw_u32, (__cw_u32)(__a + __b < __a) & 1)
__CWV_VEC2(vec_uint4, vec_subc, vec_uint4, __cw_u32, (__cw_u32)(__a >= __b) & 1)

__CWV_VEC2(vec_float4, vec_add, vec_float4, __cw_f32, __a + __b)
__CWV_VEC2(vec_float4, vec_sub, vec_float4, __cw_f32, __a - __b)
__CWV_VEC2(vec_float4, vec_max, vec_float4, __cw_f32, __CWV_CHOOSE(__cw_u32, __a > __b, __a, __b))
__CWV_VEC2(vec_float4, vec_min, vec_float4, __cw_f32, __CWV_CHOOSE(__cw_u32, __a < __b, __a, __b))
__CWV_VEC3(vec_float4, vec_madd, vec_float4, __cw_f32, __a * __b + __c)
__CWV_VEC3(vec_float4, vec_nmsub, vec_float4, __cw_f32, __c - __a * __b)
__CWV_VEC1(vec_float4, vec_abs, vec_float4, __cw_u32, __a & 0x7fffffff)
__CWV_VEC1(vec_float4, vec_re, vec_float4, __cw_f32, 1.0f / __a)
__CWV_VEC1(vec_float4, vec_rsqrte, vec_float4, __cw_f32, 1.0f / __cw_sqrt32(__a))
__CWV_VEC1(vec_float4, vec_floor, vec_float4, __cw_f32, __cw_floor32(__a))
__CWV_VEC1(vec_float4, vec_ceil, vec_float4, __cw_f32, __cw_ceil32(__a))
__CWV_VEC1(vec_float4, vec_trunc, vec_float4, __cw_f32, __cw_truncf32(__a))
__CWV_VEC1(vec_float4, vec_round, vec_float4, __cw_f32, __cw_nearest32(__a))
__cw_overload vec_float4 vec_expte(vec_float4 __a) {
  return (vec_float4){__builtin_exp2f(__a[0]), __builtin_exp2f(__a[1]), __builtin_exp2f(__a[2]), __builtin_exp2f(__a[3])};
}
__cw_overload vec_float4 vec_loge(vec_float4 __a) {
  return (vec_float4){__builtin_log2f(__a[0]), __builtin_log2f(__a[1]), __builtin_log2f(__a[2]), __builtin_log2f(__a[3])};
}

/* Products of halfwords and of bytes. */
__CWV_VEC3(vec_short8, vec_mladd, vec_short8, __cw_u16, __a * __b + __c)
__CWV_VEC3(vec_ushort8, vec_mladd, vec_ushort8, __cw_u16, __a * __b + __c)
__cw_overload vec_short8 vec_mladd(vec_short8 __a, vec_ushort8 __b, vec_ushort8 __c) {
  return vec_mladd(__a, (vec_short8)__b, (vec_short8)__c);
}
__cw_overload vec_short8 vec_mladd(vec_ushort8 __a, vec_short8 __b, vec_short8 __c) {
  return vec_mladd((vec_short8)__a, __b, __c);
}
#define __CWV_PRODUCTS(R, V, W, shift) \
  __CWV_VEC2(R, vec_mule, V, W, (__a >> shift) * (__b >> shift)) \
  __CWV_VEC2(R, vec_mulo, V, W, (__a << shift >> shift) * (__b << shift >> shift))
__CWV_PRODUCTS(vec_ushort8, vec_uchar16, __cw_u16, 8)
__CWV_PRODUCTS(vec_short8, vec_char16, __cw_s16, 8)
__CWV_PRODUCTS(vec_uint4, vec_ushort8, __cw_u32, 16)
__CWV_PRODUCTS(vec_int4, vec_short8, __cw_s32, 16)
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

#define __CWV_LOGIC(V, name, U, X, Y, expression) \
  __cw_overload V name(X __x, Y __y) { U __a = (U)__x, __b = (U)__y; return (V)(expression); }
#define __CWV_LOGICS(V, U, X, Y) \
  __CWV_LOGIC(V, vec_and, U, X, Y, __a & __b) \
  __CWV_LOGIC(V, vec_andc, U, X, Y, __a & ~__b) \
  __CWV_LOGIC(V, vec_or, U, X, Y, __a | __b) \
  __CWV_LOGIC(V, vec_xor, U, X, Y, __a ^ __b) \
  __CWV_LOGIC(V, vec_nor, U, X, Y, ~(__a | __b))
#define __CWV_LOGICS_WITH_MASKS(f, V, E, G, U, S, B) __CWV_LOGICS(V, U, V, V) __CWV_LOGICS(V, U, V, B) __CWV_LOGICS(V, U, B, V)
#define __CWV_LOGICS_OF_MASKS(f, V, E, G, U, S, B) __CWV_LOGICS(V, U, V, V)
__CWV_EACH(__CWV_LOGICS_WITH_MASKS, )
__CWV_EACH_BOOL(__CWV_LOGICS_OF_MASKS, )

#define __CWV_SELECT(V, U, M) \
  __cw_overload V vec_sel(V __x, V __y, M __z) { return (V)__CWV_CHOOSE(U, __z, (U)__y, (U)__x); }
#define __CWV_SELECTS(f, V, E, G, U, S, B) __CWV_SELECT(V, U, B) __CWV_SELECT(V, U, __CWV_MASK_OF(U))
#define __CWV_MASK_OF(U) __CWV_MASK_OF_##U
#define __CWV_MASK_OF___cw_u8 vec_uchar16
#define __CWV_MASK_OF___cw_u16 vec_ushort8
#define __CWV_MASK_OF___cw_u32 vec_uint4
__CWV_EACH_TOO(__CWV_SELECTS, )

/* ---- Shifts: counts are taken modulo the width ---- */

#define __CWV_SHIFTS(V, U, S, C, W) \
  __cw_overload V vec_sl(V __x, C __y) { return (V)((U)__x << ((U)__y & (W - 1))); } \
  __cw_overload V vec_sr(V __x, C __y) { return (V)((U)__x >> ((U)__y & (W - 1))); } \
  __cw_overload V vec_sra(V __x, C __y) { return (V)((S)__x >> (S)((U)__y & (W - 1))); } \
  __cw_overload V vec_rl(V __x, C __y) { \
    U __a = (U)__x, __n = (U)__y & (W - 1); \
    return (V)(__a << __n | __a >> ((W - __n) & (W - 1))); \
  }
__CWV_SHIFTS(vec_uchar16, __cw_u8, __cw_s8, vec_uchar16, 8)
__CWV_SHIFTS(vec_char16, __cw_u8, __cw_s8, vec_uchar16, 8)
__CWV_SHIFTS(vec_ushort8, __cw_u16, __cw_s16, vec_ushort8, 16)
__CWV_SHIFTS(vec_short8, __cw_u16, __cw_s16, vec_ushort8, 16)
__CWV_SHIFTS(vec_uint4, __cw_u32, __cw_s32, vec_uint4, 32)
__CWV_SHIFTS(vec_int4, __cw_u32, __cw_s32, vec_uint4, 32)

/* Of the whole vector, by the last byte of b: its highest five bits count bytes, and its lowest
   three bits. */
#define __CWV_LAST(b) ((unsigned char)((__cw_u8)(b))[15])
__cw_inline __cw_u8 __cw_sll(__cw_u8 __x, int __n) {
  __cw_u64 __a = (__cw_u64)__x, __low = __builtin_shufflevector(__a, (__cw_u64){0}, 1, 2);
  return (__cw_u8)(__a << ((__cw_u64){0} + (unsigned)__n) | (__low >> 1) >> ((__cw_u64){0} + (unsigned)(63 - __n)));
}
__cw_inline __cw_u8 __cw_srl(__cw_u8 __x, int __n) {
  __cw_u64 __a = (__cw_u64)__x, __high = __builtin_shufflevector(__a, (__cw_u64){0}, 2, 0);
  return (__cw_u8)(__a >> ((__cw_u64){0} + (unsigned)__n) | (__high << 1) << ((__cw_u64){0} + (unsigned)(63 - __n)));
}
#define __CWV_WHOLE(V, C) \
  __cw_overload V vec_slo(V __x, C __y) { \
    return (V)__cw_bytes((__cw_u8)__x, __CW_BYTE_NUMBERS + (unsigned char)(__CWV_LAST(__y) >> 3 & 15)); \
  } \
  __cw_overload V vec_sro(V __x, C __y) { \
    return (V)__cw_bytes((__cw_u8)__x, __CW_BYTE_NUMBERS - (unsigned char)(__CWV_LAST(__y) >> 3 & 15)); \
  } \
  __cw_overload V vec_sll(V __x, C __y) { return (V)__cw_sll((__cw_u8)__x, __CWV_LAST(__y) & 7); } \
  __cw_overload V vec_srl(V __x, C __y) { return (V)__cw_srl((__cw_u8)__x, __CWV_LAST(__y) & 7); }
#define __CWV_WHOLES(f, V, E, G, U, S, B) \
  __CWV_WHOLE(V, vec_uchar16) __CWV_WHOLE(V, vec_char16) __CWV_WHOLE(V, vec_ushort8) __CWV_WHOLE(V, vec_uint4)
__CWV_EACH_TOO(__CWV_WHOLES, )
__CWV_PIXEL(__CWV_WHOLES, )

/* ---- Permutations ---- */

/* Of a known pattern, this becomes one shuffle. */
__cw_inline __cw_u8 __cw_perm(__cw_u8 __a, __cw_u8 __b, __cw_u8 __p) {
  if (__builtin_constant_p(__p[0])) {
    __cw_u8 __second = (__cw_u8)((__p & 16) != 0);
    return (__cw_bytes(__b, __p & 15) & __second) | (__cw_bytes(__a, __p & 15) & ~__second);
  }
  return __cw_pair(__a, __b, __p);
}
#define __CWV_PERMUTE(f, V, E, G, U, S, B) \
  __cw_overload V vec_perm(V __x, V __y, vec_uchar16 __p) { return (V)__cw_perm((__cw_u8)__x, (__cw_u8)__y, (__cw_u8)__p); } \
  __cw_overload V vec_sld(V __x, V __y, int __n) { \
    return (V)__cw_perm((__cw_u8)__x, (__cw_u8)__y, __CW_BYTE_NUMBERS + (unsigned char)(__n & 15)); \
  } \
  __cw_overload V vec_splat(V __x, int __n) { \
    U __a = (U)__x; \
    return (V)((U){0} + __a[__n & (16 / sizeof(E) - 1)]); \
  }
__CWV_EACH_TOO(__CWV_PERMUTE, )
__CWV_PIXEL(__CWV_PERMUTE, )
#define __CWV_MERGE(f, V, E, G, U, S, B) \
  __CWV_VEC2(V, vec_mergeh, V, U, __cw_mergeh(__a, __b)) __CWV_VEC2(V, vec_mergel, V, U, __cw_mergel(__a, __b))
#define __CWV_MERGES(U, high, low) \
  __cw_overload U __cw_mergeh(U __a, U __b) { return __builtin_shufflevector(__a, __b, __CWV_LIST high); } \
  __cw_overload U __cw_mergel(U __a, U __b) { return __builtin_shufflevector(__a, __b, __CWV_LIST low); }
#define __CWV_LIST(...) __VA_ARGS__
__CWV_MERGES(__cw_u8, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
            (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
__CWV_MERGES(__cw_u16, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
__CWV_MERGES(__cw_u32, (0, 4, 1, 5), (2, 6, 3, 7))
__CWV_EACH_TOO(__CWV_MERGE, )
__CWV_PIXEL(__CWV_MERGE, )

/* The lower halves of the elements of a, then those of b. */
#define __CWV_PACK(R, V, N, ...) __CWV_VEC2(R, vec_pack, V, N, __builtin_shufflevector(__a, __b, __VA_ARGS__))
#define __CWV_PACK8(R, V) __CWV_PACK(R, V, __cw_u8, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define __CWV_PACK16(R, V) __CWV_PACK(R, V, __cw_u16, 1, 3, 5, 7, 9, 11, 13, 15)
__CWV_PACK8(vec_uchar16, vec_ushort8)
__CWV_PACK8(vec_char16, vec_short8)
__CWV_PACK8(vec_bchar16, vec_bshort8)
__CWV_PACK16(vec_ushort8, vec_uint4)
__CWV_PACK16(vec_short8, vec_int4)
__CWV_PACK16(vec_bshort8, vec_bint4)
__CWV_VEC2(vec_char16, vec_packs, vec_short8, __cw_s16, __cw_narrow8(__a, __b))
__CWV_VEC2(vec_uchar16, vec_packsu, vec_short8, __cw_s16, __cw_narrowu8(__a, __b))
__CWV_VEC2(vec_short8, vec_packs, vec_int4, __cw_s32, __cw_narrow16(__a, __b))
__CWV_VEC2(vec_ushort8, vec_packsu, vec_int4, __cw_s32, __cw_narrowu16(__a, __b))
#define __CWV_LEAST(U, S, a, limit) ((S)__CWV_CHOOSE(U, (a) < limit, a, (U){0} + limit))
#define __CWV_PACKU(name) \
  __CWV_VEC2(vec_uchar16, name, vec_ushort8, __cw_u16, \
            __cw_narrowu8(__CWV_LEAST(__cw_u16, __cw_s16, __a, 255), __CWV_LEAST(__cw_u16, __cw_s16, __b, 255))) \
  __CWV_VEC2(vec_ushort8, name, vec_uint4, __cw_u32, \
            __cw_narrowu16(__CWV_LEAST(__cw_u32, __cw_s32, __a, 65535), __CWV_LEAST(__cw_u32, __cw_s32, __b, 65535)))
__CWV_PACKU(vec_packs)
__CWV_PACKU(vec_packsu)
#define __CWV_UNPACK(R, V, N, W, S, shift) \
  __cw_overload R vec_unpackh(V __x) { return (R)((S)__cw_mergeh((N)__x, (N){0}) >> shift); } \
  __cw_overload R vec_unpackl(V __x) { return (R)((S)__cw_mergel((N)__x, (N){0}) >> shift); }
__CWV_UNPACK(vec_short8, vec_char16, __cw_u8, __cw_u16, __cw_s16, 8)
__CWV_UNPACK(vec_bshort8, vec_bchar16, __cw_u8, __cw_u16, __cw_s16, 8)
__CWV_UNPACK(vec_int4, vec_short8, __cw_u16, __cw_u32, __cw_s32, 16)
__CWV_UNPACK(vec_bint4, vec_bshort8, __cw_u16, __cw_u32, __cw_s32, 16)
/* Pixels: a bit and three colours of five bits. A word has a byte for each, with the colours in its
   highest bits when it is packed, and in the lowest ones when it is unpacked. */
__cw_inline __cw_u16 __cw_pixels(__cw_u32 __a) {
  return (__cw_u16)((__a >> 9 & 0xfc00) | (__a >> 6 & 0x03e0) | (__a >> 3 & 0x001f));
}
__cw_overload vec_pixel8 vec_packpx(vec_uint4 __a, vec_uint4 __b) {
  return (vec_pixel8)__builtin_shufflevector(__cw_pixels((__cw_u32)__a), __cw_pixels((__cw_u32)__b), 1, 3, 5, 7, 9, 11,
                                             13, 15);
}
__cw_inline vec_uint4 __cw_colours(__cw_u32 __w) {
  return (vec_uint4)(((__cw_u32)((__cw_s32)(__w << 16) >> 7) & 0xff000000) | (__w << 6 & 0x1f0000) |
                     (__w << 3 & 0x1f00) | (__w & 0x1f));
}
__cw_overload vec_uint4 vec_unpackh(vec_pixel8 __a) {
  return __cw_colours((__cw_u32)__cw_mergeh((__cw_u16){0}, (__cw_u16)__a));
}
__cw_overload vec_uint4 vec_unpackl(vec_pixel8 __a) {
  return __cw_colours((__cw_u32)__cw_mergel((__cw_u16){0}, (__cw_u16)__a));
}

/* ---- Splats and single elements ---- */

#define vec_splat_s8(n) ((vec_char16)((signed char)(n)))
#define vec_splat_u8(n) ((vec_uchar16)((unsigned char)(n)))
#define vec_splat_s16(n) ((vec_short8)((short)(n)))
#define vec_splat_u16(n) ((vec_ushort8)((unsigned short)(n)))
#define vec_splat_s32(n) ((vec_int4)((int)(n)))
#define vec_splat_u32(n) ((vec_uint4)((unsigned)(n)))
#define __CWV_ELEMENT(f, V, E, G, U, S, B) \
  __cw_overload V vec_splats(E __s) { return (V)(__s); } \
  __cw_overload V vec_promote(E __s, int __n) { (void)__n; return (V)(__s); }
__CWV_EACH(__CWV_ELEMENT, )
/* The type of the vector decides, whatever the type of the element is. */
#define __CWV_ELEMENT_OF(V, U, E, W) \
  __cw_overload E vec_extract(V __x, int __n) { return ((U)__x)[__n & (16 / sizeof(E) - 1)]; } \
  __cw_overload V vec_insert(W __s, V __x, int __n) { \
    U __a = (U)__x; \
    __a[__n & (16 / sizeof(E) - 1)] = (E)__s; \
    return (V)__a; \
  }
#define __CWV_ELEMENTS_OF(f, V, E, G, U, S, B) __CWV_ELEMENT_OF(V, G, E, long long)
__CWV_EACH_INT(__CWV_ELEMENTS_OF, )
__CWV_EACH_BOOL(__CWV_ELEMENTS_OF, )
__CWV_ELEMENT_OF(vec_float4, __cw_f32, float, float)
__cw_overload vec_uchar16 vec_splats(char __s) { return (vec_uchar16)(__s); }

/* ---- Memory: the lowest four bits of an address count as 0 ---- */

#define __CWV_AT(V, offset, pointer) (*(V *)(((unsigned)(pointer) + (unsigned)(offset)) & -16u))
#define __CWV_ELEMENT_AT(V, E, offset, pointer) (*(E *)(((unsigned)(pointer) + (unsigned)(offset)) & -(unsigned)sizeof(E)))
#define __CWV_INDEX(E, offset, pointer) ((((unsigned)(pointer) + (unsigned)(offset)) & 15) / sizeof(E))
#define __CWV_MEMORY_OF(V, P) \
  __cw_overload V vec_ld(int __o, const P *__p) { return __CWV_AT(V, __o, __p); } \
  __cw_overload V vec_ldl(int __o, const P *__p) { return __CWV_AT(V, __o, __p); } \
  __cw_overload void vec_st(V __x, int __o, P *__p) { __CWV_AT(V, __o, __p) = __x; } \
  __cw_overload void vec_stl(V __x, int __o, P *__p) { __CWV_AT(V, __o, __p) = __x; } \
  /* The bytes from an address to the end of its quadword, and those before it. */ \
  __cw_overload V vec_lvlx(int __o, const P *__p) { \
    unsigned __n = ((unsigned)__p + (unsigned)__o) & 15; \
    return (V)__cw_bytes((__cw_u8)__CWV_AT(V, __o, __p), __CW_BYTE_NUMBERS + (unsigned char)__n); \
  } \
  __cw_overload V vec_lvrx(int __o, const P *__p) { \
    unsigned __n = ((unsigned)__p + (unsigned)__o) & 15; \
    return (V)__cw_bytes((__cw_u8)__CWV_AT(V, __o, __p), __CW_BYTE_NUMBERS - (unsigned char)(16 - __n)); \
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
#define __CWV_MEMORY(f, V, E, G, U, S, B) \
  __CWV_MEMORY_OF(V, V) \
  __CWV_MEMORY_OF_ELEMENTS(V, E)
#define __CWV_MEMORY_OF_ELEMENTS(V, E) \
  __CWV_MEMORY_OF(V, E) \
  __cw_overload V vec_lde(int __o, const E *__p) { \
    V __x = (V){0}; \
    __x[__CWV_INDEX(E, __o, __p)] = __CWV_ELEMENT_AT(V, E, __o, __p); \
    return __x; \
  } \
  __cw_overload void vec_ste(V __x, int __o, E *__p) { \
    __CWV_ELEMENT_AT(V, E, __o, __p) = __x[__CWV_INDEX(E, __o, __p)]; \
  }
__CWV_EACH(__CWV_MEMORY, )
__CWV_MEMORY_OF_ELEMENTS(vec_uchar16, char)
__CWV_MEMORY_OF_ELEMENTS(vec_int4, long)
__CWV_MEMORY_OF_ELEMENTS(vec_uint4, unsigned long)
#define __CWV_MEMORY_OF_MASKS(f, V, E, G, U, S, B) __CWV_MEMORY_OF(V, V)
__CWV_EACH_BOOL(__CWV_MEMORY_OF_MASKS, )
__CWV_PIXEL(__CWV_MEMORY_OF_MASKS, )
#define __CWV_STORE_AS(B, V, E) \
  __cw_overload void vec_st(B __x, int __o, E *__p) { __CWV_AT(B, __o, __p) = __x; } \
  __cw_overload void vec_stl(B __x, int __o, E *__p) { __CWV_AT(B, __o, __p) = __x; } \
  __cw_overload void vec_ste(B __x, int __o, E *__p) { vec_ste((V)__x, __o, __p); }
#define __CWV_STORE_OF_MASKS(f, V, E, G, U, S, B) __CWV_STORE_AS(B, V, E)
__CWV_EACH_INT(__CWV_STORE_OF_MASKS, )
__CWV_STORE_AS(vec_pixel8, vec_short8, short)
__CWV_STORE_AS(vec_pixel8, vec_ushort8, unsigned short)

/* Patterns of vec_perm that move what is not aligned. */
#define vec_lvsl(offset, pointer) \
  ((vec_uchar16)(__CW_BYTE_NUMBERS + (unsigned char)(((unsigned)(pointer) + (unsigned)(offset)) & 15)))
#define vec_lvsr(offset, pointer) \
  ((vec_uchar16)(__CW_BYTE_NUMBERS + (unsigned char)(16 - (((unsigned)(pointer) + (unsigned)(offset)) & 15))))

/* ---- Comparisons ---- */

#define __CWV_ALL_TRUE(mask) (__cw_bitmask8((__cw_s8)(mask)) == 0xffff)
#define __CWV_ANY_TRUE(mask) (__cw_bitmask8((__cw_s8)(mask)) != 0)
#define __CWV_PREDICATE(name, V, G, U, op) \
  __cw_overload int vec_all_##name(V __a, V __b) { return __CWV_ALL_TRUE((U)((G)__a op (G)__b)); } \
  __cw_overload int vec_any_##name(V __a, V __b) { return __CWV_ANY_TRUE((U)((G)__a op (G)__b)); }
#define __CWV_COMPARE(f, V, E, G, U, S, B) \
  __CWV_VEC2(B, vec_cmpeq, V, G, __a == __b) \
  __CWV_VEC2(B, vec_cmpgt, V, G, __a > __b) \
  __CWV_VEC2(B, vec_cmpge, V, G, __a >= __b) \
  __CWV_VEC2(B, vec_cmplt, V, G, __a < __b) \
  __CWV_VEC2(B, vec_cmple, V, G, __a <= __b) \
  __CWV_PREDICATE(eq, V, G, U, ==) \
  __CWV_PREDICATE(ne, V, G, U, !=) \
  __CWV_PREDICATE(gt, V, G, U, >) \
  __CWV_PREDICATE(ge, V, G, U, >=) \
  __CWV_PREDICATE(lt, V, G, U, <) \
  __CWV_PREDICATE(le, V, G, U, <=)
__CWV_EACH(__CWV_COMPARE, )
/* A vector of masks may stand for one operand, or for both. */
#define __CWV_PREDICATE_WITH_MASK(name, V, B) \
  __cw_overload int vec_all_##name(V __a, B __b) { return vec_all_##name(__a, (V)__b); } \
  __cw_overload int vec_all_##name(B __a, V __b) { return vec_all_##name((V)__a, __b); } \
  __cw_overload int vec_any_##name(V __a, B __b) { return vec_any_##name(__a, (V)__b); } \
  __cw_overload int vec_any_##name(B __a, V __b) { return vec_any_##name((V)__a, __b); }
#define __CWV_COMPARE_WITH_MASKS(f, V, E, G, U, S, B) \
  __CWV_PREDICATE_WITH_MASK(eq, V, B) __CWV_PREDICATE_WITH_MASK(ne, V, B) \
  __CWV_PREDICATE_WITH_MASK(gt, V, B) __CWV_PREDICATE_WITH_MASK(ge, V, B) \
  __CWV_PREDICATE_WITH_MASK(lt, V, B) __CWV_PREDICATE_WITH_MASK(le, V, B)
__CWV_EACH_INT(__CWV_COMPARE_WITH_MASKS, )
#define __CWV_COMPARE_MASKS(f, V, E, G, U, S, B) \
  __CWV_VEC2(B, vec_cmpeq, V, G, __a == __b) \
  __CWV_PREDICATE(eq, V, G, U, ==) __CWV_PREDICATE(ne, V, G, U, !=) __CWV_PREDICATE(gt, V, G, U, >) \
  __CWV_PREDICATE(ge, V, G, U, >=) __CWV_PREDICATE(lt, V, G, U, <) __CWV_PREDICATE(le, V, G, U, <=)
__CWV_EACH_BOOL(__CWV_COMPARE_MASKS, )
__CWV_PREDICATE(eq, vec_pixel8, __cw_u16, __cw_u16, ==)
__CWV_PREDICATE(ne, vec_pixel8, __cw_u16, __cw_u16, !=)
/* Of floats: NaN, and comparisons that are not so. */
__cw_overload int vec_all_nan(vec_float4 __a) { return __CWV_ALL_TRUE((__cw_f32)__a != (__cw_f32)__a); }
__cw_overload int vec_any_nan(vec_float4 __a) { return __CWV_ANY_TRUE((__cw_f32)__a != (__cw_f32)__a); }
__cw_overload int vec_all_numeric(vec_float4 __a) { return !vec_any_nan(__a); }
__cw_overload int vec_any_numeric(vec_float4 __a) { return !vec_all_nan(__a); }
#define __CWV_NEGATED(name) \
  __cw_overload int vec_all_n##name(vec_float4 __a, vec_float4 __b) { return !vec_any_##name(__a, __b); } \
  __cw_overload int vec_any_n##name(vec_float4 __a, vec_float4 __b) { return !vec_all_##name(__a, __b); }
__CWV_NEGATED(gt)
__CWV_NEGATED(ge)
__CWV_NEGATED(lt)
__CWV_NEGATED(le)
/* Bounds: the highest bit is set where a is above b, and the next one where it is below -b. */
__CWV_VEC2(vec_int4, vec_cmpb, vec_float4, __cw_f32,
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

/* ---- The names of the instructions, for what has the same types ---- */

#define vec_vaddubm vec_add
#define vec_vadduhm vec_add
#define vec_vadduwm vec_add
#define vec_vaddfp vec_add
#define vec_vaddcuw vec_addc
#define vec_vaddsbs vec_adds
#define vec_vaddshs vec_adds
#define vec_vaddsws vec_adds
#define vec_vaddubs vec_adds
#define vec_vadduhs vec_adds
#define vec_vadduws vec_adds
#define vec_vand vec_and
#define vec_vandc vec_andc
#define vec_vavgsb vec_avg
#define vec_vavgsh vec_avg
#define vec_vavgsw vec_avg
#define vec_vavgub vec_avg
#define vec_vavguh vec_avg
#define vec_vavguw vec_avg
#define vec_vcfsx vec_ctf
#define vec_vcfux vec_ctf
#define vec_vctsxs vec_cts
#define vec_vctuxs vec_ctu
#define vec_vcmpbfp vec_cmpb
#define vec_vcmpeqfp vec_cmpeq
#define vec_vcmpequb vec_cmpeq
#define vec_vcmpequh vec_cmpeq
#define vec_vcmpequw vec_cmpeq
#define vec_vcmpgefp vec_cmpge
#define vec_vcmpgtfp vec_cmpgt
#define vec_vcmpgtsb vec_cmpgt
#define vec_vcmpgtsh vec_cmpgt
#define vec_vcmpgtsw vec_cmpgt
#define vec_vcmpgtub vec_cmpgt
#define vec_vcmpgtuh vec_cmpgt
#define vec_vcmpgtuw vec_cmpgt
#define vec_vexptefp vec_expte
#define vec_vlogefp vec_loge
#define vec_vmaddfp vec_madd
#define vec_vmaxfp vec_max
#define vec_vmaxsb vec_max
#define vec_vmaxsh vec_max
#define vec_vmaxsw vec_max
#define vec_vmaxub vec_max
#define vec_vmaxuh vec_max
#define vec_vmaxuw vec_max
#define vec_vminfp vec_min
#define vec_vminsb vec_min
#define vec_vminsh vec_min
#define vec_vminsw vec_min
#define vec_vminub vec_min
#define vec_vminuh vec_min
#define vec_vminuw vec_min
#define vec_vmhaddshs vec_madds
#define vec_vmhraddshs vec_mradds
#define vec_vmladduhm vec_mladd
#define vec_vmrghb vec_mergeh
#define vec_vmrghh vec_mergeh
#define vec_vmrghw vec_mergeh
#define vec_vmrglb vec_mergel
#define vec_vmrglh vec_mergel
#define vec_vmrglw vec_mergel
#define vec_vmsummbm vec_msum
#define vec_vmsumshm vec_msum
#define vec_vmsumubm vec_msum
#define vec_vmsumuhm vec_msum
#define vec_vmsumshs vec_msums
#define vec_vmsumuhs vec_msums
#define vec_vmulesb vec_mule
#define vec_vmulesh vec_mule
#define vec_vmuleub vec_mule
#define vec_vmuleuh vec_mule
#define vec_vmulosb vec_mulo
#define vec_vmulosh vec_mulo
#define vec_vmuloub vec_mulo
#define vec_vmulouh vec_mulo
#define vec_vnmsubfp vec_nmsub
#define vec_vnor vec_nor
#define vec_vor vec_or
#define vec_vperm vec_perm
#define vec_vpkpx vec_packpx
#define vec_vpkshss vec_packs
#define vec_vpkswss vec_packs
#define vec_vpkuhus vec_packs
#define vec_vpkuwus vec_packs
#define vec_vpkshus vec_packsu
#define vec_vpkswus vec_packsu
#define vec_vpkuhum vec_pack
#define vec_vpkuwum vec_pack
#define vec_vrefp vec_re
#define vec_vrfim vec_floor
#define vec_vrfin vec_round
#define vec_vrfip vec_ceil
#define vec_vrfiz vec_trunc
#define vec_vrlb vec_rl
#define vec_vrlh vec_rl
#define vec_vrlw vec_rl
#define vec_vrsqrtefp vec_rsqrte
#define vec_vsel vec_sel
#define vec_vsl vec_sll
#define vec_vslb vec_sl
#define vec_vslh vec_sl
#define vec_vslw vec_sl
#define vec_vsldoi vec_sld
#define vec_vslo vec_slo
#define vec_vspltb vec_splat
#define vec_vsplth vec_splat
#define vec_vspltw vec_splat
#define vec_vspltisb vec_splat_s8
#define vec_vspltish vec_splat_s16
#define vec_vspltisw vec_splat_s32
#define vec_vsr vec_srl
#define vec_vsrab vec_sra
#define vec_vsrah vec_sra
#define vec_vsraw vec_sra
#define vec_vsrb vec_sr
#define vec_vsrh vec_sr
#define vec_vsrw vec_sr
#define vec_vsro vec_sro
#define vec_vsubcuw vec_subc
#define vec_vsubfp vec_sub
#define vec_vsububm vec_sub
#define vec_vsubuhm vec_sub
#define vec_vsubuwm vec_sub
#define vec_vsubsbs vec_subs
#define vec_vsubshs vec_subs
#define vec_vsubsws vec_subs
#define vec_vsububs vec_subs
#define vec_vsubuhs vec_subs
#define vec_vsubuws vec_subs
#define vec_vsum2sws vec_sum2s
#define vec_vsum4sbs vec_sum4s
#define vec_vsum4shs vec_sum4s
#define vec_vsum4ubs vec_sum4s
#define vec_vsumsws vec_sums
#define vec_vupkhpx vec_unpackh
#define vec_vupkhsb vec_unpackh
#define vec_vupkhsh vec_unpackh
#define vec_vupklpx vec_unpackl
#define vec_vupklsb vec_unpackl
#define vec_vupklsh vec_unpackl
#define vec_vxor vec_xor
#define vec_lvx vec_ld
#define vec_lvxl vec_ldl
#define vec_lvebx vec_lde
#define vec_lvehx vec_lde
#define vec_lvewx vec_lde
#define vec_stvx vec_st
#define vec_stvxl vec_stl
#define vec_stvebx vec_ste
#define vec_stvehx vec_ste
#define vec_stvewx vec_ste

#endif
