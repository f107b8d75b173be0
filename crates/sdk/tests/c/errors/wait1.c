/* Waits for an event of a thread of the first libspe, which waits for a word itself. */
#include <libspe.h>

extern spe_program_handle_t wait1;

int main(void) {
  struct spe_event event = {0};

  event.gid = spe_create_group(SCHED_OTHER, 0, 1);
  event.events = SPE_EVENT_MAILBOX | SPE_EVENT_THREAD_EXIT;
  spe_create_thread(event.gid, &wait1, NULL, NULL, -1, 0); /* the start */
  return spe_get_event(&event, 1, -1); /* the wait */
}
