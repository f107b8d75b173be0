/* Runs the SPU program in the file that the first argument names. */
#include <libspe2.h>
#include <stdio.h>

int main(int argc, char **argv) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    static char data[256] __attribute__((aligned(128)));
    spe_context_ptr_t spe = spe_context_create(argc > 2 ? SPE_EVENTS_ENABLE : 0, NULL);
    spe_program_handle_t *program = spe_image_open(argv[1]);
    if (!spe || !program || spe_program_load(spe, program)) {
        printf("the program was not loaded\n");
        return 9;
    }
    int result = spe_context_run(spe, &entry, 0, data, NULL, &stop);
    printf("%d, reason %u, %#x\n", result, stop.stop_reason, stop.result.spe_exit_code);
    spe_image_close(program);
    return 0;
}
