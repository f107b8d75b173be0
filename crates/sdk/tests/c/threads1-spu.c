/* Answers by each way of an SPE thread: mailboxes, interrupt mailbox, a stop, and its exit code. */
#include <spu_intrinsics.h>
#include <spu_mfcio.h>

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
  unsigned word = spu_read_in_mbox();
  (void)id;
  spu_write_out_mbox(word + (unsigned)argp + (unsigned)envp);
  if (word == 2) {
    spu_write_out_intr_mbox(spu_read_signal1());
    spu_stop(0x42);
  }
  return 5;
}
