/* Runs the kernel on one SPU, as often as the argument says. */
#include <libspe2.h>
#include <stdlib.h>

extern spe_program_handle_t kernel;

static char data[16384 + 2048] __attribute__((aligned(4096)));

int main(int argc, char **argv)
{
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t context = spe_context_create(0, NULL);
    void *runs = (void *)(long)atoi(argv[argc - 1]);

    spe_program_load(context, &kernel);
    spe_context_run(context, &entry, 0, runs, data + 2048, NULL);
    return spe_context_destroy(context);
}
