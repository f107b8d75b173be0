#include <spu_mfcio.h>

int main(void) {
  return spu_read_in_mbox(); /* the wait */
}
