/* What the intrinsics of both sides are made of: vectors without a side's own rules for
   operators. */
#ifndef __CELLWORKS_VECTORS_H__
#define __CELLWORKS_VECTORS_H__

#include <cellworks.h>
#include <vec_types.h>

/* Comparisons of these give a mask, not a number as those of the `vector` keyword. */
#define __CW_VECTOR(type, name) typedef type name __attribute__((__vector_size__(16)));
__CW_VECTOR(unsigned char, __cw_u8)
__CW_VECTOR(signed char, __cw_s8)
__CW_VECTOR(unsigned short, __cw_u16)
__CW_VECTOR(signed short, __cw_s16)
__CW_VECTOR(unsigned int, __cw_u32)
__CW_VECTOR(signed int, __cw_s32)
__CW_VECTOR(unsigned long long, __cw_u64)
__CW_VECTOR(signed long long, __cw_s64)
__CW_VECTOR(float, __cw_f32)
__CW_VECTOR(double, __cw_f64)
#undef __CW_VECTOR

#ifdef __cplusplus
extern "C" {
typedef bool __cw_bit;
#else
typedef _Bool __cw_bit;
#endif
/* Operations that the code generator knows by name. */
extern __cw_s8 __cw_swizzle(__cw_s8 bytes, __cw_s8 at) __asm__("llvm.wasm.swizzle");
extern int __cw_bitmask8(__cw_s8 bytes) __asm__("llvm.wasm.bitmask.v16i8");
extern int __cw_bitmask16(__cw_s16 halfwords) __asm__("llvm.wasm.bitmask.v8i16");
extern int __cw_bitmask32(__cw_s32 words) __asm__("llvm.wasm.bitmask.v4i32");
extern __cw_u8 __cw_avgr8(__cw_u8 a, __cw_u8 b) __asm__("llvm.wasm.avgr.unsigned.v16i8");
extern __cw_u16 __cw_avgr16(__cw_u16 a, __cw_u16 b) __asm__("llvm.wasm.avgr.unsigned.v8i16");
extern __cw_u8 __cw_ctpop8(__cw_u8 bytes) __asm__("llvm.ctpop.v16i8");
extern __cw_u32 __cw_ctlz32(__cw_u32 words, __cw_bit undefined_at_0) __asm__("llvm.ctlz.v4i32");
extern __cw_s32 __cw_trunc_s32(__cw_f32 a) __asm__("llvm.fptosi.sat.v4i32.v4f32");
extern __cw_u32 __cw_trunc_u32(__cw_f32 a) __asm__("llvm.fptoui.sat.v4i32.v4f32");
extern __cw_f32 __cw_sqrt32(__cw_f32 a) __asm__("llvm.sqrt.v4f32");
extern __cw_f64 __cw_sqrt64(__cw_f64 a) __asm__("llvm.sqrt.v2f64");
extern __cw_f32 __cw_floor32(__cw_f32 a) __asm__("llvm.floor.v4f32");
extern __cw_f32 __cw_ceil32(__cw_f32 a) __asm__("llvm.ceil.v4f32");
extern __cw_f32 __cw_truncf32(__cw_f32 a) __asm__("llvm.trunc.v4f32");
extern __cw_f32 __cw_nearest32(__cw_f32 a) __asm__("llvm.nearbyint.v4f32");
extern __cw_f64 __cw_floor64(__cw_f64 a) __asm__("llvm.floor.v2f64");
extern __cw_f64 __cw_ceil64(__cw_f64 a) __asm__("llvm.ceil.v2f64");
extern __cw_f64 __cw_truncf64(__cw_f64 a) __asm__("llvm.trunc.v2f64");
extern __cw_f64 __cw_nearest64(__cw_f64 a) __asm__("llvm.nearbyint.v2f64");
#ifdef __cplusplus
}
#endif

/* The bytes of `a` that `at` numbers, 0 where `at` is 16 or more. */
__cw_inline __cw_u8 __cw_bytes(__cw_u8 __a, __cw_u8 __at) { return (__cw_u8)__cw_swizzle((__cw_s8)__a, (__cw_s8)__at); }

#define __CW_BYTE_NUMBERS ((__cw_u8){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})

/* The bytes of the pair (a, b) that the low five bits of `at` number. */
__cw_inline __cw_u8 __cw_pair(__cw_u8 __a, __cw_u8 __b, __cw_u8 __at) {
  return __cw_bytes(__a, __at & 31) | __cw_bytes(__b, (__at & 31) ^ 16);
}

/* 2 to the power of `power`, from -127 to 127. */
__cw_inline float __cw_power2(int __power) {
  union { unsigned __bits; float __f; } __u;
  __u.__bits = __power > -127 ? (unsigned)(127 + __power) << 23 : 0x00400000u;
  return __u.__f;
}

#endif
