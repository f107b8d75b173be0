/* The opcodes, limits and bits of the MFC, by the names of spu_mfcio.h, for both sides.
 *
 * Source: Cell Broadband Engine Architecture, sections 7 to 9. */
#ifndef __CELLWORKS_MFC_H__
#define __CELLWORKS_MFC_H__

/* Opcodes of the MFC. The letters after PUT and GET: B is with a barrier, F with a fence, L by a
 * list, and R with a hint that the data is soon read elsewhere. */
#define MFC_BARRIER_ENABLE 0x0001
#define MFC_FENCE_ENABLE 0x0002
#define MFC_LIST_ENABLE 0x0004
#define MFC_RESULT_ENABLE 0x0010
#define MFC_PUT_CMD 0x0020
#define MFC_PUTB_CMD 0x0021
#define MFC_PUTF_CMD 0x0022
#define MFC_PUTL_CMD 0x0024
#define MFC_PUTLB_CMD 0x0025
#define MFC_PUTLF_CMD 0x0026
#define MFC_PUTR_CMD 0x0030
#define MFC_PUTRB_CMD 0x0031
#define MFC_PUTRF_CMD 0x0032
#define MFC_PUTRL_CMD 0x0034
#define MFC_PUTRLB_CMD 0x0035
#define MFC_PUTRLF_CMD 0x0036
#define MFC_GET_CMD 0x0040
#define MFC_GETB_CMD 0x0041
#define MFC_GETF_CMD 0x0042
#define MFC_GETL_CMD 0x0044
#define MFC_GETLB_CMD 0x0045
#define MFC_GETLF_CMD 0x0046
#define MFC_SDCRT_CMD 0x0080
#define MFC_SDCRTST_CMD 0x0081
#define MFC_SDCRZ_CMD 0x0089
#define MFC_SDCRST_CMD 0x008D
#define MFC_SDCRF_CMD 0x008F
#define MFC_SNDSIG_CMD 0x00A0
#define MFC_SNDSIGB_CMD 0x00A1
#define MFC_SNDSIGF_CMD 0x00A2
#define MFC_PUTLLUC_CMD 0x00B0
#define MFC_PUTLLC_CMD 0x00B4
#define MFC_PUTQLLUC_CMD 0x00B8
#define MFC_BARRIER_CMD 0x00C0
#define MFC_EIEIO_CMD 0x00C8
#define MFC_SYNC_CMD 0x00CC
#define MFC_GETLLAR_CMD 0x00D0

/* A command with its classes. */
#define MFC_CMD_WORD(tid, rid, cmd) (((unsigned)(tid) << 24) | ((unsigned)(rid) << 16) | (unsigned)(cmd))

/* What a command may have. */
#define MFC_MIN_DMA_SIZE_SHIFT 4
#define MFC_MAX_DMA_SIZE_SHIFT 14
#define MFC_MIN_DMA_SIZE (1 << MFC_MIN_DMA_SIZE_SHIFT)
#define MFC_MAX_DMA_SIZE (1 << MFC_MAX_DMA_SIZE_SHIFT)
#define MFC_MIN_DMA_SIZE_MASK (MFC_MIN_DMA_SIZE - 1)
#define MFC_MAX_DMA_SIZE_MASK (MFC_MAX_DMA_SIZE - 1)
#define MFC_MIN_DMA_LIST_ELEMENTS 1
#define MFC_MAX_DMA_LIST_ELEMENTS 2048
#define MFC_MIN_DMA_LIST_SIZE 8
#define MFC_MAX_DMA_LIST_SIZE (MFC_MAX_DMA_LIST_ELEMENTS * 8)

/* When the tag status is written. */
#define MFC_TAG_UPDATE_IMMEDIATE 0
#define MFC_TAG_UPDATE_ANY 1
#define MFC_TAG_UPDATE_ALL 2

/* Bits of the atomic status. */
#define MFC_PUTLLC_STATUS 1
#define MFC_PUTLLUC_STATUS 2
#define MFC_GETLLAR_STATUS 4

/* Bits of the event status and of the event mask. */
#define MFC_TAG_STATUS_UPDATE_EVENT 0x0001
#define MFC_LIST_STALL_NOTIFY_EVENT 0x0002
#define MFC_COMMAND_QUEUE_AVAILABLE_EVENT 0x0008
#define MFC_IN_MBOX_AVAILABLE_EVENT 0x0010
#define MFC_DECREMENTER_EVENT 0x0020
#define MFC_OUT_INTR_MBOX_AVAILABLE_EVENT 0x0040
#define MFC_OUT_MBOX_AVAILABLE_EVENT 0x0080
#define MFC_SIGNAL_NOTIFY_2_EVENT 0x0100
#define MFC_SIGNAL_NOTIFY_1_EVENT 0x0200
#define MFC_LLR_LOST_EVENT 0x0400
#define MFC_PRIV_ATTN_EVENT 0x0800
#define MFC_MULTI_SRC_SYNC_EVENT 0x1000

#endif
