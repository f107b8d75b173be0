/* The intrinsics of an SPU, by their published names: those over vectors, and channels, control and
 * order. */
#ifndef __SPU_INTRINSICS_H__
#define __SPU_INTRINSICS_H__

#include <cellworks_si.h>
#include <spu_channels.h>

/* Order of memory: an SPU's own loads and stores are in order here. */
#define spu_sync() ({ __asm__ volatile("" ::: "memory"); })
#define spu_sync_c() spu_sync()
#define spu_dsync() spu_sync()

/* Halts. */
#define spu_hcmpeq(a, b) ((a) == (b) ? __cw_halt() : (void)0)
#define spu_hcmpgt(a, b) ((a) > (b) ? __cw_halt() : (void)0)

/* Interrupts do not come: an event is found by spu_bisled, by reading its status or by counting
   it. */
#define spu_ienable() ((void)0)
#define spu_idisable() ((void)0)
#define spu_bisled(function) (__cw_rchcnt(SPU_RdEventStat) ? (void)((void (*)(void))(function))() : (void)0)
#define spu_bisled_d(function) spu_bisled(function)
#define spu_bisled_e(function) spu_bisled(function)

/* The status register of floating point has no meaning here, and special registers do not exist. */
#define spu_mffpscr() ((vec_uint4){0, 0, 0, 0})
#define spu_mtfpscr(value) ((void)(value))
#define spu_mfspr(number) (0u)
#define spu_mtspr(number, value) ((void)(value))

#define spu_readchqw(channel) ((vec_uint4){spu_readch(channel), 0, 0, 0})
#define spu_writechqw(channel, value) spu_writech(channel, ((vec_uint4)(value))[0])

/* Hints to SPU compilers. */
#define __align_hint(pointer, base, offset) ((void)0)

/* The same, one for each instruction. */
#define si_rdch(channel) si_from_uint(spu_readch(channel))
#define si_rchcnt(channel) si_from_uint(spu_readchcnt(channel))
#define si_wrch(channel, value) spu_writech(channel, si_to_uint(value))
/* The function, or a quadword with its address. */
__cw_overload void (*__cw_function(void (*__function)(void)))(void) { return __function; }
__cw_overload void (*__cw_function(qword __address))(void) { return (void (*)(void))si_to_ptr(__address); }
#define si_bisled(function) spu_bisled(__cw_function(function))
#define si_bisledd(function) spu_bisled_d(__cw_function(function))
#define si_bislede(function) spu_bisled_e(__cw_function(function))
#define si_stop(code) spu_stop(code)
#define si_stopd(a, b, c) spu_stop(0x3fff)
#define si_heq(a, b) spu_hcmpeq(si_to_int(a), si_to_int(b))
#define si_heqi(a, b) spu_hcmpeq(si_to_int(a), (int)(b))
#define si_hgt(a, b) spu_hcmpgt(si_to_int(a), si_to_int(b))
#define si_hgti(a, b) spu_hcmpgt(si_to_int(a), (int)(b))
#define si_hlgt(a, b) spu_hcmpgt(si_to_uint(a), si_to_uint(b))
#define si_hlgti(a, b) spu_hcmpgt(si_to_uint(a), (unsigned)(b))
#define si_nop(...) ((void)0)
#define si_lnop() ((void)0)
#define si_sync() spu_sync()
#define si_syncc() spu_sync_c()
#define si_dsync() spu_dsync()
#define si_fscrrd() ((qword){0})
#define si_fscrwr(value) ((void)(value))
#define si_mfspr(number) ((qword){0})
#define si_mtspr(number, value) ((void)(value))

#endif
