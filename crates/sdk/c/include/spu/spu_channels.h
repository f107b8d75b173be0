/* The channels of an SPU: their numbers, and the intrinsics that read, write and count them. */
#ifndef __SPU_CHANNELS_H__
#define __SPU_CHANNELS_H__

#include <cellworks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the runtime gives to an SPU program. */
extern unsigned __cw_rdch(unsigned channel) __asm__("spu.rdch");
extern void __cw_wrch(unsigned channel, unsigned value) __asm__("spu.wrch");
extern unsigned __cw_rchcnt(unsigned channel) __asm__("spu.rchcnt");
extern void __cw_dma(volatile void *lsa, unsigned eah, unsigned eal, unsigned size, unsigned tag, unsigned cmd)
    __asm__("spu.dma");
extern void __cw_stop(unsigned code) __asm__("spu.stop");
extern void __cw_halt(void) __asm__("spu.halt");

#ifdef __cplusplus
}
#endif

#define SPU_RdEventStat 0
#define SPU_WrEventMask 1
#define SPU_WrEventAck 2
#define SPU_RdSigNotify1 3
#define SPU_RdSigNotify2 4
#define SPU_WrDec 7
#define SPU_RdDec 8
#define MFC_WrMSSyncReq 9
#define SPU_RdEventMask 11
#define MFC_RdTagMask 12
#define SPU_RdMachStat 13
#define SPU_WrSRR0 14
#define SPU_RdSRR0 15
#define MFC_LSA 16
#define MFC_EAH 17
#define MFC_EAL 18
#define MFC_Size 19
#define MFC_TagID 20
#define MFC_Cmd 21
#define MFC_WrTagMask 22
#define MFC_WrTagUpdate 23
#define MFC_RdTagStat 24
#define MFC_RdListStallStat 25
#define MFC_WrListStallAck 26
#define MFC_RdAtomicStat 27
#define SPU_WrOutMbox 28
#define SPU_RdInMbox 29
#define SPU_WrOutIntrMbox 30

/* Macros, so that the call stands on the program's own line. */
#define spu_readch(channel) (__cw_rdch((unsigned)(channel)))
#define spu_writech(channel, value) (__cw_wrch((unsigned)(channel), (unsigned)(value)))
#define spu_readchcnt(channel) (__cw_rchcnt((unsigned)(channel)))
#define spu_mfcdma64(ls, eah, eal, size, tag, cmd) \
  (__cw_dma((volatile void *)(ls), (unsigned)(eah), (unsigned)(eal), (unsigned)(size), (unsigned)(tag), (unsigned)(cmd)))
#define spu_mfcdma32(ls, ea, size, tag, cmd) spu_mfcdma64(ls, 0, ea, size, tag, cmd)
#define spu_mfcstat(type) (__cw_wrch(MFC_WrTagUpdate, (unsigned)(type)), __cw_rdch(MFC_RdTagStat))
#define spu_stop(code) (__cw_stop((unsigned)(code)))

#endif
