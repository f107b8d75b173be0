/* Runs the SPU program `tested`, and returns what it returns. */
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t tested;

int main(void) {
  spe_context_ptr_t context = spe_context_create(0, NULL);
  unsigned int entry = SPE_DEFAULT_ENTRY;
  spe_stop_info_t stop;
  if (!context || spe_program_load(context, &tested)) return 100;
  if (spe_context_run(context, &entry, 0, NULL, NULL, &stop)) return 101;
  spe_context_destroy(context);
  return stop.result.spe_exit_code;
}
