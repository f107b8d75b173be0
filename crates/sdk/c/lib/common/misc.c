/* Aligned memory and small helpers. */
#include <libmisc.h>
#include <stdlib.h>

#ifdef __SPU__
#include <spu_mfcio.h>
#endif

void *malloc_align(size_t size, unsigned int log2_align) { return _malloc_align(size, log2_align); }

void free_align(void *memory) { _free_align(memory); }

void *calloc_align(size_t number, size_t size, unsigned int log2_align) {
  return _calloc_align(number, size, log2_align);
}

void *realloc_align(void *memory, size_t size, unsigned int log2_align) {
  return _realloc_align(memory, size, log2_align);
}

uint32_t clog2(uint32_t value) { return _clog2(value); }

float rand_0_to_1(void) { return (float)(rand() / (double)RAND_MAX); }

float rand_minus1_to_1(void) { return (float)(rand() / (RAND_MAX / 2.0) - 1.0); }

#ifdef __SPU__
static uint32_t copy(uint64_t ea, uint32_t ls, uint32_t size, unsigned cmd) {
  uint32_t bytes = (size + 15) & ~15u, tag, mask;
  if ((ea | ls) & 15) return 0;
  tag = mfc_tag_reserve();
  if (tag == MFC_TAG_INVALID) return 0;
  for (uint32_t at = 0; at < bytes; at += MFC_MAX_DMA_SIZE) {
    uint32_t part = bytes - at < MFC_MAX_DMA_SIZE ? bytes - at : MFC_MAX_DMA_SIZE;
    spu_mfcdma64(ls + at, mfc_ea2h(ea + at), mfc_ea2l(ea + at), part, tag, cmd);
  }
  mask = mfc_read_tag_mask();
  mfc_write_tag_mask(1u << tag);
  mfc_read_tag_status_all();
  mfc_write_tag_mask(mask);
  mfc_tag_release(tag);
  return bytes;
}

uint32_t copy_from_ls(uint64_t to, uint32_t from, uint32_t size) { return copy(to, from, size, MFC_PUT_CMD); }

uint32_t copy_to_ls(uint32_t to, uint64_t from, uint32_t size) { return copy(from, to, size, MFC_GET_CMD); }
#endif
