/* Both sides print, take arguments, and exit with codes. */
#include <libspe2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern spe_program_handle_t hello_spu;

int main(int argc, char **argv) {
    spe_stop_info_t stop;
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    printf("PPU: %d arguments, the last is %s\n", argc - 1, argv[argc - 1]);
    if (!spe || spe_program_load(spe, &hello_spu))
        return 1;
    int result = spe_context_run(spe, &entry, 0, (void *)0x1234560, (void *)77, &stop);
    printf("PPU: %d, reason %u, exit code %d\n", result, stop.stop_reason, stop.result.spe_exit_code);
    entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, (void *)0x10, NULL, &stop);
    printf("PPU: the second run keeps the globals: %d\n", stop.result.spe_exit_code);
    spe_context_destroy(spe);
    printf("PPU: %g %s %lld\n", 1.5, getenv("GREETING") ? getenv("GREETING") : "(none)", 1234567890123ll);
    return 3;
}
