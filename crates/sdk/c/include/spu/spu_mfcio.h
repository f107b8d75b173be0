/* DMA, mailboxes, signals, events and the decrementer of an SPU, by their published names.
 *
 * Every name that moves data or waits is a macro over the channels of spu_channels.h.
 */
#ifndef __SPU_MFCIO_H__
#define __SPU_MFCIO_H__

#include <cellworks_mfc.h>
#include <spu_intrinsics.h>
#include <stdint.h>

/* One element of a DMA list: the top bit asks to stop there, the next 16 are reserved. */
typedef struct mfc_list_element {
  uint64_t notify : 1;
  uint64_t reserved : 16;
  uint64_t size : 15;
  uint64_t eal : 32;
} mfc_list_element_t;

/* Effective addresses. */
#define mfc_ea2h(ea) ((unsigned)((unsigned long long)(ea) >> 32))
#define mfc_ea2l(ea) ((unsigned)(unsigned long long)(ea))
#define mfc_hl2ea(high, low) (((unsigned long long)(unsigned)(high) << 32) | (unsigned)(low))
#define mfc_ceil128(value) (((value) + 127) & ~127)

#define __cw_mfc(ls, ea, size, tag, tid, rid, cmd) \
  spu_mfcdma64(ls, mfc_ea2h(ea), mfc_ea2l(ea), size, tag, MFC_CMD_WORD(tid, rid, cmd))

/* Transfers. */
#define mfc_put(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_PUT_CMD)
#define mfc_putb(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_PUTB_CMD)
#define mfc_putf(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_PUTF_CMD)
#define mfc_get(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_GET_CMD)
#define mfc_getb(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_GETB_CMD)
#define mfc_getf(ls, ea, size, tag, tid, rid) __cw_mfc(ls, ea, size, tag, tid, rid, MFC_GETF_CMD)

/* Transfers by a list: the high word of the address comes from `ea`, the low words from the
   list. */
#define __cw_mfcl(ls, ea, list, size, tag, tid, rid, cmd) \
  spu_mfcdma64(ls, mfc_ea2h(ea), (unsigned)(list), size, tag, MFC_CMD_WORD(tid, rid, cmd))
#define mfc_putl(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_PUTL_CMD)
#define mfc_putlb(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_PUTLB_CMD)
#define mfc_putlf(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_PUTLF_CMD)
#define mfc_getl(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_GETL_CMD)
#define mfc_getlb(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_GETLB_CMD)
#define mfc_getlf(ls, ea, list, size, tag, tid, rid) __cw_mfcl(ls, ea, list, size, tag, tid, rid, MFC_GETLF_CMD)

/* Lines of 128 bytes. */
#define mfc_getllar(ls, ea, tid, rid) __cw_mfc(ls, ea, 128, 0, tid, rid, MFC_GETLLAR_CMD)
#define mfc_putllc(ls, ea, tid, rid) __cw_mfc(ls, ea, 128, 0, tid, rid, MFC_PUTLLC_CMD)
#define mfc_putlluc(ls, ea, tid, rid) __cw_mfc(ls, ea, 128, 0, tid, rid, MFC_PUTLLUC_CMD)
#define mfc_putqlluc(ls, ea, tag, tid, rid) __cw_mfc(ls, ea, 128, tag, tid, rid, MFC_PUTQLLUC_CMD)
#define mfc_read_atomic_status() spu_readch(MFC_RdAtomicStat)
#define mfc_stat_atomic_status() spu_readchcnt(MFC_RdAtomicStat)

/* Signals to another SPE, and order among commands. */
#define mfc_sndsig(ls, ea, tag, tid, rid) __cw_mfc(ls, ea, 4, tag, tid, rid, MFC_SNDSIG_CMD)
#define mfc_sndsigb(ls, ea, tag, tid, rid) __cw_mfc(ls, ea, 4, tag, tid, rid, MFC_SNDSIGB_CMD)
#define mfc_sndsigf(ls, ea, tag, tid, rid) __cw_mfc(ls, ea, 4, tag, tid, rid, MFC_SNDSIGF_CMD)
#define mfc_barrier(tag) spu_mfcdma32(0, 0, 0, tag, MFC_BARRIER_CMD)
#define mfc_eieio(tag, tid, rid) spu_mfcdma32(0, 0, 0, tag, MFC_CMD_WORD(tid, rid, MFC_EIEIO_CMD))
#define mfc_sync(tag) spu_mfcdma32(0, 0, 0, tag, MFC_SYNC_CMD)

/* Hints to caches of the PPE. */
#define mfc_sdcrt(ea, size, tag, tid, rid) __cw_mfc(0, ea, size, tag, tid, rid, MFC_SDCRT_CMD)
#define mfc_sdcrtst(ea, size, tag, tid, rid) __cw_mfc(0, ea, size, tag, tid, rid, MFC_SDCRTST_CMD)
#define mfc_sdcrz(ea, size, tag, tid, rid) __cw_mfc(0, ea, size, tag, tid, rid, MFC_SDCRZ_CMD)
#define mfc_sdcrst(ea, size, tag, tid, rid) __cw_mfc(0, ea, size, tag, tid, rid, MFC_SDCRST_CMD)
#define mfc_sdcrf(ea, size, tag, tid, rid) __cw_mfc(0, ea, size, tag, tid, rid, MFC_SDCRF_CMD)

/* What the queue and the tags say. */
#define mfc_stat_cmd_queue() spu_readchcnt(MFC_Cmd)
#define mfc_write_tag_mask(mask) spu_writech(MFC_WrTagMask, mask)
#define mfc_read_tag_mask() spu_readch(MFC_RdTagMask)
#define mfc_write_tag_update(when) spu_writech(MFC_WrTagUpdate, when)
#define mfc_write_tag_update_immediate() mfc_write_tag_update(MFC_TAG_UPDATE_IMMEDIATE)
#define mfc_write_tag_update_any() mfc_write_tag_update(MFC_TAG_UPDATE_ANY)
#define mfc_write_tag_update_all() mfc_write_tag_update(MFC_TAG_UPDATE_ALL)
#define mfc_stat_tag_update() spu_readchcnt(MFC_WrTagUpdate)
#define mfc_read_tag_status() spu_readch(MFC_RdTagStat)
#define mfc_read_tag_status_immediate() spu_mfcstat(MFC_TAG_UPDATE_IMMEDIATE)
#define mfc_read_tag_status_any() spu_mfcstat(MFC_TAG_UPDATE_ANY)
#define mfc_read_tag_status_all() spu_mfcstat(MFC_TAG_UPDATE_ALL)
#define mfc_stat_tag_status() spu_readchcnt(MFC_RdTagStat)
#define mfc_read_list_stall_status() spu_readch(MFC_RdListStallStat)
#define mfc_stat_list_stall_status() spu_readchcnt(MFC_RdListStallStat)
#define mfc_write_list_stall_ack(tag) spu_writech(MFC_WrListStallAck, tag)
#define mfc_write_multi_src_sync_request() spu_writech(MFC_WrMSSyncReq, 0)
#define mfc_stat_multi_src_sync_request() spu_readchcnt(MFC_WrMSSyncReq)

/* Mailboxes and signals of this SPE. */
#define spu_read_in_mbox() spu_readch(SPU_RdInMbox)
#define spu_stat_in_mbox() spu_readchcnt(SPU_RdInMbox)
#define spu_write_out_mbox(value) spu_writech(SPU_WrOutMbox, value)
#define spu_stat_out_mbox() spu_readchcnt(SPU_WrOutMbox)
#define spu_write_out_intr_mbox(value) spu_writech(SPU_WrOutIntrMbox, value)
#define spu_stat_out_intr_mbox() spu_readchcnt(SPU_WrOutIntrMbox)
#define spu_read_signal1() spu_readch(SPU_RdSigNotify1)
#define spu_stat_signal1() spu_readchcnt(SPU_RdSigNotify1)
#define spu_read_signal2() spu_readch(SPU_RdSigNotify2)
#define spu_stat_signal2() spu_readchcnt(SPU_RdSigNotify2)

/* The decrementer, events, and what the SPU says of itself. */
#define spu_read_decrementer() spu_readch(SPU_RdDec)
#define spu_write_decrementer(count) spu_writech(SPU_WrDec, count)
#define spu_read_event_status() spu_readch(SPU_RdEventStat)
#define spu_stat_event_status() spu_readchcnt(SPU_RdEventStat)
#define spu_write_event_mask(mask) spu_writech(SPU_WrEventMask, mask)
#define spu_write_event_ack(ack) spu_writech(SPU_WrEventAck, ack)
#define spu_read_event_mask() spu_readch(SPU_RdEventMask)
#define spu_read_machine_status() spu_readch(SPU_RdMachStat)
#define spu_write_srr0(srr0) spu_writech(SPU_WrSRR0, srr0)
#define spu_read_srr0() spu_readch(SPU_RdSRR0)

/* Tags that a program reserves, so that its parts do not use the same one. One list for a whole
   program. */
#define MFC_TAG_VALID 0
#define MFC_TAG_INVALID 0xFFFFFFFF

#ifdef __cplusplus
extern "C" {
#endif

/* The lowest free tag, or MFC_TAG_INVALID. */
extern uint32_t mfc_tag_reserve(void);
/* MFC_TAG_VALID, or MFC_TAG_INVALID if `tag` is not reserved. */
extern uint32_t mfc_tag_release(uint32_t tag);
/* The first of `number` free tags in a row, or MFC_TAG_INVALID. */
extern uint32_t mfc_multi_tag_reserve(uint32_t number);
/* MFC_TAG_VALID, or MFC_TAG_INVALID, with nothing released, if one of them is not reserved. */
extern uint32_t mfc_multi_tag_release(uint32_t first, uint32_t number);

#ifdef __cplusplus
}
#endif

#define __mfc_tag_reserve() mfc_tag_reserve()
#define __mfc_tag_release(tag) mfc_tag_release(tag)
#define __mfc_multi_tag_reserve(number) mfc_multi_tag_reserve(number)
#define __mfc_multi_tag_release(first, number) mfc_multi_tag_release(first, number)

/* Interrupts of an SPU do not come, so nothing has to be done to keep them away. */
#define mfc_begin_critical_section() (0u)
#define mfc_end_critical_section(status) ((void)(status))

#endif
