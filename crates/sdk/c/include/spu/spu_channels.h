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
/* Issues a command, and returns whether any command is incomplete; or returns 2, and the machine
   has to be asked. */
extern unsigned __cw_dma(volatile void *lsa, unsigned eah, unsigned eal, unsigned size, unsigned tag, unsigned cmd)
    __asm__("spu.dma");
/* Asks the machine to issue it, and returns the same. */
extern unsigned __cw_command(volatile void *lsa, unsigned eah, unsigned eal, unsigned size, unsigned tag, unsigned cmd)
    __asm__("spu.command");
/* The complete ones of some tag groups, when the update is due; and whether that would wait. */
extern unsigned __cw_tags(unsigned mask, unsigned update) __asm__("spu.tags");
extern unsigned __cw_tags_there(unsigned mask, unsigned update) __asm__("spu.tags_there");
extern void __cw_stop(unsigned code) __asm__("spu.stop");
extern void __cw_halt(void) __asm__("spu.halt");

/* What only the program writes: the mask of tag groups, and the update that was asked for and not
   read, plus 1. While no command is incomplete, the machine need not be asked for tag groups. */
extern unsigned __cw_tag_mask, __cw_tag_update, __cw_is_busy;
/* Whether the program has enabled the event of tag groups. Only then does the machine know of
   updates. */
extern unsigned __cw_watches_tags;

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

__cw_inline void __cw_issue(volatile void *__ls, unsigned __eah, unsigned __eal, unsigned __size, unsigned __tag,
                            unsigned __cmd) {
  unsigned __is_busy = __cw_dma(__ls, __eah, __eal, __size, __tag, __cmd);
  __cw_is_busy = __is_busy > 1 ? __cw_command(__ls, __eah, __eal, __size, __tag, __cmd) : __is_busy;
}

__cw_inline unsigned __cw_tag_status(unsigned __update) {
  return __cw_is_busy || __update > 2 ? __cw_tags(__cw_tag_mask, __update) : __cw_tag_mask;
}

__cw_inline unsigned __cw_read_channel(unsigned __channel) {
  unsigned __update = __cw_tag_update;
  if (__channel == MFC_RdTagMask) return __cw_tag_mask;
  if (__channel != MFC_RdTagStat || !__update) return __cw_rdch(__channel);
  __cw_tag_update = 0;
  return __cw_tag_status(__update - 1);
}

/* Tells the machine of the update that was asked for, if its event is enabled. */
__cw_inline void __cw_tell_tags(void) {
  if (!__cw_watches_tags || !__cw_tag_update) return;
  __cw_wrch(MFC_WrTagMask, __cw_tag_mask);
  __cw_wrch(MFC_WrTagUpdate, __cw_tag_update - 1);
}

__cw_inline void __cw_write_channel(unsigned __channel, unsigned __value) {
  if (__channel == MFC_WrTagMask) {
    __cw_tag_mask = __value;
  } else if (__channel == MFC_WrTagUpdate) {
    __cw_tag_update = __value + 1;
    __cw_tell_tags();
  } else {
    if (__channel == MFC_Cmd) __cw_is_busy = 1;
    __cw_wrch(__channel, __value);
    if (__channel == SPU_WrEventMask) {
      __cw_watches_tags = __value & 1;
      __cw_tell_tags();
    }
  }
}

__cw_inline unsigned __cw_count_channel(unsigned __channel) {
  if (__channel != MFC_RdTagStat) return __cw_rchcnt(__channel);
  return __cw_tag_update ? __cw_tags_there(__cw_tag_mask, __cw_tag_update - 1) : 0;
}

#define spu_readch(channel) (__cw_read_channel((unsigned)(channel)))
#define spu_writech(channel, value) (__cw_write_channel((unsigned)(channel), (unsigned)(value)))
#define spu_readchcnt(channel) (__cw_count_channel((unsigned)(channel)))
#define spu_mfcdma64(ls, eah, eal, size, tag, cmd) \
  (__cw_issue((volatile void *)(ls), (unsigned)(eah), (unsigned)(eal), (unsigned)(size), (unsigned)(tag), (unsigned)(cmd)))
#define spu_mfcdma32(ls, ea, size, tag, cmd) spu_mfcdma64(ls, 0, ea, size, tag, cmd)
#define spu_mfcstat(type) (__cw_tag_status((unsigned)(type)))
#define spu_stop(code) (__cw_stop((unsigned)(code)))

#endif
