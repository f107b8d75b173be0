/* The intrinsics of the PPU that are no vectors, by their published names. */
#ifndef __PPU_INTRINSICS_H__
#define __PPU_INTRINSICS_H__

#include <cellworks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the runtime gives to a PPU program. `bytes` is 4 or 8, and `address` a multiple of it. A
 * number in memory is big-endian. An SPE's command that writes the line of 128 bytes ends a
 * reservation, and so does another one. */
extern unsigned long long __cw_load_reserved(const volatile void *address, unsigned bytes) __asm__("ppu.load_reserved");
extern unsigned __cw_store_conditional(volatile void *address, unsigned bytes, unsigned long long value)
    __asm__("ppu.store_conditional");
/* The time base. */
extern unsigned long long __cw_timebase(void) __asm__("ppu.timebase");

#ifdef __cplusplus
}
#endif

/* Time. */
#define __mftb() (__cw_timebase())
#define __mftbu() ((unsigned)(__cw_timebase() >> 32))
#define __mftbl() ((unsigned)__cw_timebase())

/* Reservations. The stores return 1 if they stored. */
#define __lwarx(address) ((unsigned)__cw_load_reserved(address, 4))
#define __ldarx(address) (__cw_load_reserved(address, 8))
#define __stwcx(address, value) (__cw_store_conditional(address, 4, (unsigned)(value)))
#define __stdcx(address, value) (__cw_store_conditional(address, 8, (unsigned long long)(value)))

/* Order. A processor keeps the order of its own accesses here; the compiler must too. */
#define __sync() ({ __asm__ volatile("" ::: "memory"); })
#define __lwsync() __sync()
#define __eieio() __sync()
#define __isync() __sync()

/* Caches: hints do nothing, and __dcbz clears the line of 128 bytes. */
#define __dcbt(address) ((void)(address))
#define __dcbtst(address) ((void)(address))
#define __dcbt_TH1000(start, direction, unlimited, id) ((void)(start))
#define __dcbt_TH1010(go, stop, count, transient, unlimited, id) ((void)0)
#define __dcbst(address) ((void)(address))
#define __dcbf(address) ((void)(address))
#define __dcbz(address) ((void)__builtin_memset((void *)((unsigned)(address) & -128u), 0, 128))
#define __icbi(address) ((void)(address))
#define __dcbi(address) ((void)(address))

/* Threads of the processor: hints only. */
#define __nop() ((void)0)
#define __cctph() ((void)0)
#define __cctpm() ((void)0)
#define __cctpl() ((void)0)
#define __db8cyc() ((void)0)
#define __db10cyc() ((void)0)
#define __db12cyc() ((void)0)
#define __db16cyc() ((void)0)
#define __protected_stream_set(direction, address, id) ((void)(address))
#define __protected_unlimited_stream_set(direction, address, id) ((void)(address))
#define __protected_stream_count(count, id) ((void)0)
#define __protected_stream_go() ((void)0)
#define __protected_stream_stop(id) ((void)0)
#define __protected_stream_stop_all() ((void)0)

/* Integers. */
__cw_inline unsigned __cntlzw(unsigned __value) { return __value ? (unsigned)__builtin_clz(__value) : 32; }
__cw_inline unsigned __cntlzd(unsigned long long __value) {
  return __value ? (unsigned)__builtin_clzll(__value) : 64;
}
__cw_inline int __mulhw(int __a, int __b) { return (int)((long long)__a * __b >> 32); }
__cw_inline unsigned __mulhwu(unsigned __a, unsigned __b) { return (unsigned)((unsigned long long)__a * __b >> 32); }
__cw_inline unsigned long long __mulhdu(unsigned long long __a, unsigned long long __b) {
  unsigned long long __al = (unsigned)__a, __ah = __a >> 32, __bl = (unsigned)__b, __bh = __b >> 32;
  unsigned long long __middle = __ah * __bl + (__al * __bl >> 32);
  return __ah * __bh + (__middle >> 32) + ((__al * __bh + (unsigned)__middle) >> 32);
}
__cw_inline long long __mulhd(long long __a, long long __b) {
  return (long long)(__mulhdu((unsigned long long)__a, (unsigned long long)__b) -
                     (unsigned long long)((__a < 0 ? __b : 0) + (__b < 0 ? __a : 0)));
}
__cw_inline unsigned __rlwnm(unsigned __value, unsigned __count, unsigned __first, unsigned __last) {
  unsigned __n = __count & 31, __r = __value << __n | __value >> ((32 - __n) & 31);
  unsigned __from = 0xffffffffu >> (__first & 31), __to = 0xffffffffu << (31 - (__last & 31));
  return __r & ((__first & 31) <= (__last & 31) ? __from & __to : __from | __to);
}
#define __rlwinm(value, count, first, last) __rlwnm(value, count, first, last)
__cw_inline unsigned __rlwimi(unsigned __into, unsigned __value, unsigned __count, unsigned __first, unsigned __last) {
  unsigned __mask = __rlwnm(0xffffffffu, 0, __first, __last);
  return (__into & ~__mask) | (__rlwnm(__value, __count, 0, 31) & __mask);
}
/* Of 64 bits: the rotated value between two bits, counted from the highest one, and 0 elsewhere. */
__cw_inline unsigned long long __cw_rotated(unsigned long long __value, unsigned __count, unsigned __first, unsigned __last) {
  unsigned __n = __count & 63;
  unsigned long long __r = __value << __n | __value >> ((64 - __n) & 63);
  unsigned long long __from = ~0ull >> (__first & 63), __to = ~0ull << (63 - (__last & 63));
  return __r & ((__first & 63) <= (__last & 63) ? __from & __to : __from | __to);
}
#define __rldcl(value, count, first) __cw_rotated(value, (unsigned)(count), first, 63)
#define __rldcr(value, count, last) __cw_rotated(value, (unsigned)(count), 0, last)
#define __rldicl(value, count, first) __cw_rotated(value, count, first, 63)
#define __rldicr(value, count, last) __cw_rotated(value, count, 0, last)
#define __rldic(value, count, first) __cw_rotated(value, count, first, 63 - ((count) & 63))
__cw_inline unsigned long long __rldimi(unsigned long long __into, unsigned long long __value, unsigned __count,
                                        unsigned __first) {
  unsigned long long __mask = __cw_rotated(~0ull, 0, __first, 63 - (__count & 63));
  return (__into & ~__mask) | (__cw_rotated(__value, __count, 0, 63) & __mask);
}

/* Memory with the bytes the other way round. */
__cw_inline unsigned short __lhbrx(const void *__p) { return __builtin_bswap16(*(const unsigned short *)__p); }
__cw_inline unsigned __lwbrx(const void *__p) { return __builtin_bswap32(*(const unsigned *)__p); }
__cw_inline unsigned long long __ldbrx(const void *__p) { return __builtin_bswap64(*(const unsigned long long *)__p); }
__cw_inline void __sthbrx(void *__p, unsigned short __v) { *(unsigned short *)__p = __builtin_bswap16(__v); }
__cw_inline void __stwbrx(void *__p, unsigned __v) { *(unsigned *)__p = __builtin_bswap32(__v); }
__cw_inline void __stdbrx(void *__p, unsigned long long __v) { *(unsigned long long *)__p = __builtin_bswap64(__v); }

/* Floating point. */
__cw_inline double __fabs(double __a) { return __builtin_fabs(__a); }
__cw_inline double __fnabs(double __a) { return -__builtin_fabs(__a); }
__cw_inline float __fabsf(float __a) { return __builtin_fabsf(__a); }
__cw_inline float __fnabsf(float __a) { return -__builtin_fabsf(__a); }
__cw_inline double __fmadd(double __a, double __b, double __c) { return __a * __b + __c; }
__cw_inline double __fmsub(double __a, double __b, double __c) { return __a * __b - __c; }
__cw_inline double __fnmadd(double __a, double __b, double __c) { return -(__a * __b + __c); }
__cw_inline double __fnmsub(double __a, double __b, double __c) { return -(__a * __b - __c); }
__cw_inline float __fmadds(float __a, float __b, float __c) { return __a * __b + __c; }
__cw_inline float __fmsubs(float __a, float __b, float __c) { return __a * __b - __c; }
__cw_inline float __fnmadds(float __a, float __b, float __c) { return -(__a * __b + __c); }
__cw_inline float __fnmsubs(float __a, float __b, float __c) { return -(__a * __b - __c); }
__cw_inline double __fsel(double __a, double __b, double __c) { return __a >= 0 ? __b : __c; }
__cw_inline float __fsels(float __a, float __b, float __c) { return __a >= 0 ? __b : __c; }
__cw_inline double __fsqrt(double __a) { return __builtin_sqrt(__a); }
__cw_inline float __fsqrts(float __a) { return __builtin_sqrtf(__a); }
__cw_inline float __fres(float __a) { return 1 / __a; }
__cw_inline double __frsqrte(double __a) { return 1 / __builtin_sqrt(__a); }
__cw_inline double __fmul(double __a, double __b) { return __a * __b; }
__cw_inline float __fmuls(float __a, float __b) { return __a * __b; }
__cw_inline float __frsp(double __a) { return (float)__a; }
/* To and from integers that lie in a register of floating point. They are saturated, and NaN
   gives the lowest one. */
__cw_inline double __fcfid(long long __a) { return (double)__a; }
__cw_inline long long __fctidz(double __a) {
  return __a >= 0x1p63 ? 0x7fffffffffffffffll : __a >= -0x1p63 ? (long long)__a : -0x7fffffffffffffffll - 1;
}
__cw_inline long long __fctid(double __a) { return __fctidz(__builtin_nearbyint(__a)); }
__cw_inline long long __fctiwz(double __a) {
  return __a >= 0x1p31 ? 0x7fffffff : __a > -0x80000001p0 ? (int)__a : -0x7fffffff - 1;
}
__cw_inline long long __fctiw(double __a) { return __fctiwz(__builtin_nearbyint(__a)); }

/* The status register of floating point has no meaning here, and special registers do not exist. */
__cw_inline double __mffs(void) { return 0; }
#define __mtfsf(mask, value) ((void)(value))
#define __mtfsfi(field, value) ((void)0)
#define __mtfsb0(bit) ((void)0)
#define __mtfsb1(bit) ((void)0)
#define __setflm(value) ((void)(value), __mffs())
#define __mfspr(number) (0ull)
#define __mtspr(number, value) ((void)(value))

#endif
