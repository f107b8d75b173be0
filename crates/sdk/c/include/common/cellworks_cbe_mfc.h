/* The names of cbe_mfc.h that spu_mfcio.h does not have, for both sides.
 *
 * Source: Cell Broadband Engine Architecture, sections 7 to 9. */
#ifndef __CELLWORKS_CBE_MFC_H__
#define __CELLWORKS_CBE_MFC_H__

#include <cellworks_mfc.h>

/* Opcodes for the PPU: the SPU starts when the transfer is done. */
#define MFC_START_ENABLE 0x0008
#define MFC_PUTS_CMD 0x0028
#define MFC_PUTBS_CMD 0x0029
#define MFC_PUTFS_CMD 0x002A
#define MFC_GETS_CMD 0x0048
#define MFC_GETBS_CMD 0x0049
#define MFC_GETFS_CMD 0x004A

/* Opcodes by another name. */
#define MFC_SDCRS_CMD MFC_SDCRST_CMD
#define MFC_FENCE_CMD MFC_BARRIER_CMD

/* Parts of a command in 32 bits, and in 64 bits with its size and tag. */
#define MFC_BCLASS(tid) ((unsigned)(tid) << 24)
#define MFC_RCLASS(rid) ((unsigned)(rid) << 16)
#define MFC_SIZE(size) ((unsigned long long)(size) << 48)
#define MFC_TAG(tag) ((unsigned long long)(tag) << 32)
#define MFC_BR_CMD(word) ((unsigned long long)(word))
#define MFC_CMD_DWORD(size, tag, word) (MFC_SIZE(size) | MFC_TAG(tag) | MFC_BR_CMD(word))
#define MFC_CMD_MASK 0x0000FFFF
#define MFC_CLASS_MASK 0x000000FF
#define MFC_ADDR_MATCH_MASK 0xF
#define MFC_TAGID_TO_TAGMASK(tag) (1 << ((tag) & 0x1F))

/* The same events by the names of an older header. */
#define MFC_DMA_TAG_STATUS_UPDATE_EVENT MFC_TAG_STATUS_UPDATE_EVENT
#define MFC_DMA_TAG_CMD_STALL_NOTIFY_EVENT MFC_LIST_STALL_NOTIFY_EVENT
#define MFC_DMA_QUEUE_AVAILABLE_EVENT MFC_COMMAND_QUEUE_AVAILABLE_EVENT
#define MFC_DMA_QUEUE_VACANCY_EVENT MFC_COMMAND_QUEUE_AVAILABLE_EVENT
#define MFC_SPU_MAILBOX_WRITTEN_EVENT MFC_IN_MBOX_AVAILABLE_EVENT
#define MFC_PU_INT_MAILBOX_AVAILABLE_EVENT MFC_OUT_INTR_MBOX_AVAILABLE_EVENT
#define MFC_PU_INT_MAILBOX_AVAIL_EVENT MFC_OUT_INTR_MBOX_AVAILABLE_EVENT
#define MFC_PU_MAILBOX_AVAILABLE_EVENT MFC_OUT_MBOX_AVAILABLE_EVENT
#define MFC_PU_MAILBOX_AVAIL_EVENT MFC_OUT_MBOX_AVAILABLE_EVENT
#define MFC_SIGNAL_2_EVENT MFC_SIGNAL_NOTIFY_2_EVENT
#define MFC_SIGNAL_1_EVENT MFC_SIGNAL_NOTIFY_1_EVENT
#define MFC_MULTI_SRC_EVENT MFC_MULTI_SRC_SYNC_EVENT

/* What the registers of the proxy queue answer, and the fields of the mailbox status. */
#define MFC_PPU_DMA_CMD_ENQUEUE_SUCCESSFUL 0x00
#define MFC_PPU_DMA_CMD_SEQUENCE_ERROR 0x01
#define MFC_PPU_DMA_QUEUE_FULL 0x02
#define MFC_PPU_MAX_QUEUE_SPACE 0x08
#define MFC_SPU_MAX_QUEUE_SPACE 0x10
#define MFC_SPU_TO_PPU_MAILBOX_STATUS_MASK 0x000000FF
#define MFC_SPU_TO_PPU_MAILBOX_STATUS_SHIFT 0
#define MFC_PPU_TO_SPU_MAILBOX_STATUS_MASK 0x0000FF00
#define MFC_PPU_TO_SPU_MAILBOX_STATUS_SHIFT 8
#define MFC_PPU_TO_SPU_MAILBOX_MAX 4
#define MFC_SPU_TO_PPU_INT_MAILBOX_STATUS_MASK 0x00FF0000
#define MFC_SPU_TO_PPU_INT_MAILBOX_STATUS_SHIFT 16

#endif
