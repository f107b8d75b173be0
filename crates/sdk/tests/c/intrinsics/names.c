/* Tags, addresses, list elements and aligned memory: what needs no other processor. */
#include <cbe_mfc.h>
#include <free_align.h>
#include <libmisc.h>
#include <malloc_align.h>
#include <spu_mfcio.h>
#include <string.h>
#include "expect.h"

static mfc_list_element_t list[2] __attribute__((aligned(16))) = {{0, 0, 4096, 0x12345678}, {1, 0, 8, 0x22}};

static void tags(void) {
  unsigned k;
  EXPECT(mfc_tag_reserve() == 0)
  EXPECT(mfc_multi_tag_reserve(30) == 1)
  EXPECT(mfc_multi_tag_reserve(2) == MFC_TAG_INVALID)
  EXPECT(mfc_tag_release(5) == MFC_TAG_VALID)
  EXPECT(mfc_tag_release(5) == MFC_TAG_INVALID)
  EXPECT(mfc_multi_tag_release(4, 3) == MFC_TAG_INVALID)
  EXPECT(mfc_tag_reserve() == 5)
  EXPECT(mfc_tag_reserve() == 31)
  EXPECT(mfc_tag_reserve() == MFC_TAG_INVALID)
  EXPECT(mfc_multi_tag_release(0, 33) == MFC_TAG_INVALID)
  EXPECT(mfc_multi_tag_release(31, 2) == MFC_TAG_INVALID)
  EXPECT(mfc_multi_tag_release(0, 32) == MFC_TAG_VALID)
  EXPECT(mfc_multi_tag_reserve(0) == MFC_TAG_INVALID)
  EXPECT(mfc_multi_tag_reserve(33) == MFC_TAG_INVALID)
  for (k = 0; k < 32; k++) EXPECT(mfc_tag_reserve() == k)
  EXPECT(mfc_multi_tag_release(0, 32) == MFC_TAG_VALID)
}

static void addresses(void) {
  unsigned long long ea = 0x123456789abcdef0ull;
  unsigned char *bytes = (unsigned char *)list;
  EXPECT(mfc_ea2h(ea) == 0x12345678)
  EXPECT(mfc_ea2l(ea) == 0x9abcdef0)
  EXPECT(mfc_ea2h(list) == 0 && mfc_ea2l(list) == (unsigned)list)
  EXPECT(mfc_hl2ea(mfc_ea2h(ea), mfc_ea2l(ea)) == ea)
  EXPECT(mfc_ceil128(0) == 0 && mfc_ceil128(1) == 128 && mfc_ceil128(128) == 128 && mfc_ceil128(129) == 256)
  EXPECT(sizeof(mfc_list_element_t) == 8)
  EXPECT(bytes[0] == 0 && bytes[2] == 0x10 && bytes[3] == 0 && bytes[4] == 0x12 && bytes[7] == 0x78)
  EXPECT(bytes[8] == 0x80 && bytes[11] == 8 && bytes[15] == 0x22)
  list[0].notify = 1, list[0].size += 16, list[0].eal += 16;
  EXPECT(bytes[0] == 0x80 && bytes[2] == 0x10 && bytes[3] == 16 && bytes[7] == 0x88)
  EXPECT(list[0].size == 4112 && list[0].reserved == 0)
  EXPECT(MFC_MAX_DMA_SIZE == 16384 && MFC_MAX_DMA_LIST_SIZE == 16384 && MFC_MAX_DMA_LIST_ELEMENTS == 2048)
  EXPECT(MFC_CMD_WORD(1, 2, MFC_GETLB_CMD) == 0x01020045)
}

/* Names of cbe_mfc.h, and what they have in common with those of spu_mfcio.h. */
static void older(void) {
  EXPECT(MFC_TAGID_TO_TAGMASK(35) == 8 && MFC_DMA_TAG_STATUS_UPDATE_EVENT == MFC_TAG_STATUS_UPDATE_EVENT)
  EXPECT(MFC_PUTS_CMD == (MFC_PUT_CMD | MFC_START_ENABLE) && MFC_GETS_CMD == (MFC_GET_CMD | MFC_START_ENABLE))
  EXPECT(MFC_PUTRLB_CMD == (MFC_PUT_CMD | MFC_RESULT_ENABLE | MFC_LIST_ENABLE | MFC_BARRIER_ENABLE))
  EXPECT(MFC_GETBS_CMD == (MFC_GETS_CMD | MFC_BARRIER_ENABLE) && MFC_GETLF_CMD == (MFC_GETL_CMD | MFC_FENCE_ENABLE))
  EXPECT(MFC_CMD_DWORD(128, 5, MFC_CMD_WORD(1, 2, MFC_PUT_CMD)) == 0x0080000501020020ull)
  EXPECT(mfc_begin_critical_section() == 0 && __mfc_tag_release(40) == MFC_TAG_INVALID)
  mfc_end_critical_section(0);
}

static int called;
static void count(void) { called++; }
static void events(void) {
  spu_write_event_mask(0);
  si_bisled(count);
  EXPECT(called == 0)
  spu_write_event_mask(MFC_DECREMENTER_EVENT);
  spu_write_decrementer(1);
  while (!spu_stat_event_status()) {}
  si_bisled(count), si_bisledd(count), si_bislede(si_from_ptr((void *)count));
  EXPECT(called == 3)
}

static void memory(void) {
  unsigned log2;
  for (log2 = 0; log2 <= 12; log2++) {
    char *p = (char *)malloc_align(1000, log2), *q = (char *)_malloc_align(16, log2), *z;
    EXPECT(p && ((unsigned)p & ((1u << log2) - 1)) == 0 && q && ((unsigned)q & ((1u << log2) - 1)) == 0)
    memset(p, 0x55, 1000);
    p = (char *)realloc_align(p, 3000, log2);
    EXPECT(p && ((unsigned)p & ((1u << log2) - 1)) == 0 && p[0] == 0x55 && p[999] == 0x55)
    memset(p, 0x55, 3000);
    free_align(p), _free_align(q);
    z = (char *)calloc_align(10, 100, log2);
    EXPECT(z && z[0] == 0 && z[500] == 0 && z[999] == 0)
    free_align(z);
  }
  EXPECT(malloc_align(0x7fffffff, 4) == NULL)
  EXPECT(malloc_align(16, 40) == NULL)
  EXPECT(calloc_align(0x10000, 0x10000, 4) == NULL)
  EXPECT(clog2(0) == 0 && clog2(1) == 0 && clog2(2) == 1 && clog2(3) == 2 && clog2(4) == 2 && clog2(5) == 3)
  EXPECT(clog2(0x80000000) == 31 && clog2(0x80000001) == 32)
}

int main(void) {
  tags();
  addresses();
  older();
  events();
  memory();
  return failures != 0;
}
