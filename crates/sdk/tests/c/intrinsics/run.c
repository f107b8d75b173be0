/* Runs a test on an SPE: its exit code is that of this program. */
#include <libspe2.h>
#include <stddef.h>

extern spe_program_handle_t test;

int main(void) {
  unsigned entry = SPE_DEFAULT_ENTRY;
  spe_stop_info_t stop;
  spe_context_ptr_t context = spe_context_create(0, NULL);
  if (!context || spe_program_load(context, &test) != 0) return 2;
  if (spe_context_run(context, &entry, 0, NULL, NULL, &stop) != 0) return 3;
  return stop.stop_reason == SPE_EXIT ? stop.result.spe_exit_code : 4;
}
