/* The specific intrinsics of an SPU (si_*): one for each instruction over quadwords, for both
 * sides.
 *
 * A scalar is in the preferred slot: a word in word 0, a halfword in bytes 2 and 3, a byte in
 * byte 3. Immediate values may be any integers.
 */
#ifndef __CELLWORKS_SI_H__
#define __CELLWORKS_SI_H__

#include <cellworks_spu.h>

#define __CW_SI1(name, T, expression) \
  __cw_inline qword si_##name(qword __x) { T __a = (T)__x; return (qword)(expression); }
#define __CW_SI2(name, T, expression) \
  __cw_inline qword si_##name(qword __x, qword __y) { T __a = (T)__x, __b = (T)__y; return (qword)(expression); }
#define __CW_SI3(name, T, expression) \
  __cw_inline qword si_##name(qword __x, qword __y, qword __z) { \
    T __a = (T)__x, __b = (T)__y, __c = (T)__z; \
    return (qword)(expression); \
  }
/* An instruction with a second operand in a register, and its form with an immediate value. */
#define __CW_SI2I(name, T, E, expression) \
  __CW_SI2(name, T, expression) \
  __cw_inline qword si_##name##i(qword __x, int __y) { \
    T __a = (T)__x, __b = (T){0} + (E)__y; \
    return (qword)(expression); \
  }

/* Scalars to and from quadwords. */
#define __CW_SI_SCALAR(name, E, V, at) \
  __cw_inline qword si_from_##name(E __s) { V __v = {0}; __v[at] = __s; return (qword)__v; } \
  __cw_inline E si_to_##name(qword __x) { return ((V)__x)[at]; }
__CW_SI_SCALAR(char, signed char, vec_char16, 3)
__CW_SI_SCALAR(uchar, unsigned char, vec_uchar16, 3)
__CW_SI_SCALAR(short, short, vec_short8, 1)
__CW_SI_SCALAR(ushort, unsigned short, vec_ushort8, 1)
__CW_SI_SCALAR(int, int, vec_int4, 0)
__CW_SI_SCALAR(uint, unsigned int, vec_uint4, 0)
__CW_SI_SCALAR(llong, long long, vec_llong2, 0)
__CW_SI_SCALAR(ullong, unsigned long long, vec_ullong2, 0)
__CW_SI_SCALAR(float, float, vec_float4, 0)
__CW_SI_SCALAR(double, double, vec_double2, 0)
__cw_inline qword si_from_ptr(void *__p) { return si_from_uint((unsigned)__p); }
__cw_inline void *si_to_ptr(qword __x) { return (void *)si_to_uint(__x); }

/* Constants and masks. */
__cw_inline qword si_il(int __i) { return (qword)((__cw_s32){0} + (int)(short)__i); }
__cw_inline qword si_ila(int __i) { return (qword)((__cw_s32){0} + (__i & 0x3ffff)); }
__cw_inline qword si_ilh(int __i) { return (qword)((__cw_s16){0} + (short)__i); }
__cw_inline qword si_ilhu(int __i) { return (qword)((__cw_u32){0} + ((unsigned)__i << 16)); }
__cw_inline qword si_iohl(qword __x, int __i) { return (qword)((__cw_u32)__x | ((unsigned)__i & 0xffff)); }
__cw_inline qword si_fsmbi(int __i) { return (qword)spu_maskb((unsigned)__i & 0xffff); }
__cw_inline qword si_fsmb(qword __x) { return (qword)spu_maskb(si_to_uint(__x) & 0xffff); }
__cw_inline qword si_fsmh(qword __x) { return (qword)spu_maskh(si_to_uint(__x) & 0xff); }
__cw_inline qword si_fsm(qword __x) { return (qword)spu_maskw(si_to_uint(__x) & 0xf); }
__cw_inline qword si_gb(qword __x) { return (qword)spu_gather((vec_uint4)__x); }
__cw_inline qword si_gbh(qword __x) { return (qword)spu_gather((vec_ushort8)__x); }
__cw_inline qword si_gbb(qword __x) { return (qword)spu_gather((vec_uchar16)__x); }

/* The pattern of si_shufb that puts the scalar of its first operand at an address into its
   second one. */
#define __CW_SI_INSERT(letter, bytes, first) \
  __cw_inline qword si_c##letter##x(qword __x, qword __y) { \
    unsigned __at = (si_to_uint(__x) + si_to_uint(__y)) & (16 - bytes); \
    __cw_u8 __p = __CW_BYTE_NUMBERS + 16, __n = __CW_BYTE_NUMBERS - (unsigned char)__at; \
    __cw_u8 __here = (__cw_u8)(__n < bytes); \
    return (qword)((__p & ~__here) | ((__n + first) & __here)); \
  } \
  __cw_inline qword si_c##letter##d(qword __x, int __i) { return si_c##letter##x(__x, si_from_int(__i)); }
__CW_SI_INSERT(b, 1, 3)
__CW_SI_INSERT(h, 2, 2)
__CW_SI_INSERT(w, 4, 0)
__CW_SI_INSERT(d, 8, 0)

/* Loads and stores of quadwords. */
#ifdef __SPU__
#define __CW_LS(address) (*(qword *)((unsigned)(address) & 0x3fff0))
#else
#define __CW_LS(address) (*(qword *)((unsigned)(address) & -16u))
#endif
__cw_inline qword si_lqa(int __i) { return __CW_LS(__i); }
__cw_inline qword si_lqr(int __i) { return __CW_LS(__i); }
__cw_inline qword si_lqd(qword __x, int __i) { return __CW_LS(si_to_uint(__x) + (unsigned)__i); }
__cw_inline qword si_lqx(qword __x, qword __y) { return __CW_LS(si_to_uint(__x) + si_to_uint(__y)); }
__cw_inline void si_stqa(qword __v, int __i) { __CW_LS(__i) = __v; }
__cw_inline void si_stqr(qword __v, int __i) { __CW_LS(__i) = __v; }
__cw_inline void si_stqd(qword __v, qword __x, int __i) { __CW_LS(si_to_uint(__x) + (unsigned)__i) = __v; }
__cw_inline void si_stqx(qword __v, qword __x, qword __y) { __CW_LS(si_to_uint(__x) + si_to_uint(__y)) = __v; }

/* Integers. The subtractions take the first operand from the second one. */
__CW_SI2I(a, __cw_u32, unsigned, __a + __b)
__CW_SI2I(ah, __cw_u16, unsigned short, __a + __b)
__CW_SI2I(sf, __cw_u32, unsigned, __b - __a)
__CW_SI2I(sfh, __cw_u16, unsigned short, __b - __a)
__CW_SI3(addx, __cw_u32, __a + __b + (__c & 1))
__CW_SI3(sfx, __cw_u32, __b + ~__a + (__c & 1))
__CW_SI2(cg, __cw_u32, (__cw_u32)(__a + __b < __a) & 1)
__CW_SI2(bg, __cw_u32, (__cw_u32)(__b >= __a) & 1)
__CW_SI3(cgx, __cw_u32, __cw_gencx(__a, __b, __c))
__CW_SI3(bgx, __cw_u32, __cw_gencx(__b, ~__a, __c))
__CW_SI2(mpy, vec_short8, spu_mulo(__a, __b))
__CW_SI2(mpyu, vec_ushort8, spu_mulo(__a, __b))
__CW_SI2(mpyh, vec_short8, spu_mulh(__a, __b))
__CW_SI2(mpys, vec_short8, spu_mulsr(__a, __b))
__CW_SI2(mpyhh, vec_short8, spu_mule(__a, __b))
__CW_SI2(mpyhhu, vec_ushort8, spu_mule(__a, __b))
__CW_SI3(mpya, vec_short8, spu_madd(__a, __b, (vec_int4)__c))
__CW_SI3(mpyhha, vec_short8, spu_mhhadd(__a, __b, (vec_int4)__c))
__CW_SI3(mpyhhau, vec_ushort8, spu_mhhadd(__a, __b, (vec_uint4)__c))
__cw_inline qword si_mpyi(qword __x, int __i) { return (qword)spu_mulo((vec_short8)__x, __i); }
__cw_inline qword si_mpyui(qword __x, int __i) { return (qword)spu_mulo((vec_ushort8)__x, __i); }
__CW_SI1(clz, vec_uint4, spu_cntlz(__a))
__CW_SI1(cntb, vec_uchar16, spu_cntb(__a))
__CW_SI2(avgb, vec_uchar16, spu_avg(__a, __b))
__CW_SI2(absdb, vec_uchar16, spu_absd(__a, __b))
__CW_SI2(sumb, vec_uchar16, spu_sumb(__a, __b))
__CW_SI1(xsbh, vec_char16, spu_extend(__a))
__CW_SI1(xshw, vec_short8, spu_extend(__a))
__CW_SI1(xswd, vec_int4, spu_extend(__a))

/* Bits. */
__CW_SI2(and, __cw_u32, __a & __b)
__CW_SI2(andc, __cw_u32, __a & ~__b)
__CW_SI2(or, __cw_u32, __a | __b)
__CW_SI2(orc, __cw_u32, __a | ~__b)
__CW_SI2(xor, __cw_u32, __a ^ __b)
__CW_SI2(nand, __cw_u32, ~(__a & __b))
__CW_SI2(nor, __cw_u32, ~(__a | __b))
__CW_SI2(eqv, __cw_u32, ~(__a ^ __b))
__CW_SI3(selb, __cw_u32, (__a & ~__c) | (__b & __c))
__CW_SI3(shufb, __cw_u8, __cw_shuffle(__a, __b, __c))
__CW_SI1(orx, vec_uint4, spu_orx(__a))
#define __CW_SI_LOGIC(name, op) \
  __cw_inline qword si_##name##i(qword __x, int __i) { return (qword)((__cw_u32)__x op (unsigned)__i); } \
  __cw_inline qword si_##name##hi(qword __x, int __i) { return (qword)((__cw_u16)__x op (unsigned short)__i); } \
  __cw_inline qword si_##name##bi(qword __x, int __i) { return (qword)((__cw_u8)__x op (unsigned char)__i); }
__CW_SI_LOGIC(and, &)
__CW_SI_LOGIC(or, |)
__CW_SI_LOGIC(xor, ^)

/* Shifts and rotations: of elements, then of the whole quadword, by a count in the preferred
   slot. */
#define __CW_SI_SHIFT(name, V, C, function) \
  __cw_inline qword si_##name(qword __x, qword __n) { return (qword)function((V)__x, (C)__n); } \
  __cw_inline qword si_##name##i(qword __x, int __n) { return (qword)function((V)__x, __n); }
__CW_SI_SHIFT(shl, vec_uint4, vec_uint4, spu_sl)
__CW_SI_SHIFT(shlh, vec_ushort8, vec_ushort8, spu_sl)
__CW_SI_SHIFT(rot, vec_uint4, vec_int4, spu_rl)
__CW_SI_SHIFT(roth, vec_ushort8, vec_short8, spu_rl)
__CW_SI_SHIFT(rotm, vec_uint4, vec_int4, spu_rlmask)
__CW_SI_SHIFT(rothm, vec_ushort8, vec_short8, spu_rlmask)
__CW_SI_SHIFT(rotma, vec_int4, vec_int4, spu_rlmaska)
__CW_SI_SHIFT(rotmah, vec_short8, vec_short8, spu_rlmaska)
#define __CW_SI_QUAD(name, function) \
  __cw_inline qword si_##name(qword __x, qword __n) { return function(__x, si_to_int(__n)); } \
  __cw_inline qword si_##name##i(qword __x, int __n) { return function(__x, __n); }
__CW_SI_QUAD(shlqbi, spu_slqw)
__CW_SI_QUAD(shlqby, spu_slqwbyte)
__CW_SI_QUAD(rotqbi, spu_rlqw)
__CW_SI_QUAD(rotqby, spu_rlqwbyte)
__CW_SI_QUAD(rotqmbi, spu_rlmaskqw)
__CW_SI_QUAD(rotqmby, spu_rlmaskqwbyte)
__CW_SI_QUAD(shlqbybi, spu_slqwbytebc)
__CW_SI_QUAD(rotqbybi, spu_rlqwbytebc)
__CW_SI_QUAD(rotqmbybi, spu_rlmaskqwbytebc)

/* Comparisons. */
__CW_SI2I(ceqb, __cw_u8, unsigned char, __a == __b)
__CW_SI2I(ceqh, __cw_u16, unsigned short, __a == __b)
__CW_SI2I(ceq, __cw_u32, unsigned, __a == __b)
__CW_SI2I(cgtb, __cw_s8, signed char, __a > __b)
__CW_SI2I(cgth, __cw_s16, short, __a > __b)
__CW_SI2I(cgt, __cw_s32, int, __a > __b)
__CW_SI2I(clgtb, __cw_u8, unsigned char, __a > __b)
__CW_SI2I(clgth, __cw_u16, unsigned short, __a > __b)
__CW_SI2I(clgt, __cw_u32, unsigned, __a > __b)

/* Floating point. si_fi gives what si_frest and si_frsqest have computed already. */
__CW_SI2(fa, __cw_f32, __a + __b)
__CW_SI2(fs, __cw_f32, __a - __b)
__CW_SI2(fm, __cw_f32, __a * __b)
__CW_SI3(fma, __cw_f32, __a * __b + __c)
__CW_SI3(fms, __cw_f32, __a * __b - __c)
__CW_SI3(fnms, __cw_f32, __c - __a * __b)
__CW_SI2(fceq, vec_float4, spu_cmpeq(__a, __b))
__CW_SI2(fcgt, vec_float4, spu_cmpgt(__a, __b))
__CW_SI2(fcmeq, vec_float4, spu_cmpabseq(__a, __b))
__CW_SI2(fcmgt, vec_float4, spu_cmpabsgt(__a, __b))
__CW_SI1(frest, vec_float4, spu_re(__a))
__CW_SI1(frsqest, vec_float4, spu_rsqrte(__a))
__CW_SI2(fi, __cw_u32, __b)
__cw_inline qword si_csflt(qword __x, int __scale) { return (qword)spu_convtf((vec_int4)__x, __scale); }
__cw_inline qword si_cuflt(qword __x, int __scale) { return (qword)spu_convtf((vec_uint4)__x, __scale); }
__cw_inline qword si_cflts(qword __x, int __scale) { return (qword)spu_convts((vec_float4)__x, __scale); }
__cw_inline qword si_cfltu(qword __x, int __scale) { return (qword)spu_convtu((vec_float4)__x, __scale); }
__CW_SI2(dfa, __cw_f64, __a + __b)
__CW_SI2(dfs, __cw_f64, __a - __b)
__CW_SI2(dfm, __cw_f64, __a * __b)
__CW_SI3(dfma, __cw_f64, __a * __b + __c)
__CW_SI3(dfms, __cw_f64, __a * __b - __c)
__CW_SI3(dfnms, __cw_f64, __c - __a * __b)
__CW_SI3(dfnma, __cw_f64, -(__a * __b + __c))
__CW_SI2(dfceq, vec_double2, spu_cmpeq(__a, __b))
__CW_SI2(dfcgt, vec_double2, spu_cmpgt(__a, __b))
__CW_SI2(dfcmeq, vec_double2, spu_cmpabseq(__a, __b))
__CW_SI2(dfcmgt, vec_double2, spu_cmpabsgt(__a, __b))
__CW_SI1(fesd, vec_float4, spu_extend(__a))
__CW_SI1(frds, vec_double2, spu_roundtf(__a))
__cw_inline qword si_dftsv(qword __x, int __what) { return (qword)spu_testsv((vec_double2)__x, __what); }

#endif
