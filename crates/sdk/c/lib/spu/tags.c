/* Tags of DMA: what the channels of tag groups have, and the tags that a program reserves. */
#include <spu_mfcio.h>

unsigned __cw_tag_mask, __cw_tag_update, __cw_is_busy, __cw_watches_tags;

static uint32_t taken; /* bit t is tag t */

static uint32_t bits(uint32_t first, uint32_t number) {
  return (number >= 32 ? 0xffffffffu : (1u << number) - 1) << first;
}

uint32_t mfc_multi_tag_reserve(uint32_t number) {
  if (number == 0 || number > 32) return MFC_TAG_INVALID;
  for (uint32_t first = 0; first + number <= 32; first++) {
    if ((taken & bits(first, number)) == 0) {
      taken |= bits(first, number);
      return first;
    }
  }
  return MFC_TAG_INVALID;
}

uint32_t mfc_multi_tag_release(uint32_t first, uint32_t number) {
  if (number == 0 || number > 32 || first > 32 - number) return MFC_TAG_INVALID;
  if ((taken & bits(first, number)) != bits(first, number)) return MFC_TAG_INVALID;
  taken &= ~bits(first, number);
  return MFC_TAG_VALID;
}

uint32_t mfc_tag_reserve(void) { return mfc_multi_tag_reserve(1); }

uint32_t mfc_tag_release(uint32_t tag) { return mfc_multi_tag_release(tag, 1); }
