/* The two sides take turns to print parts of one line. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

extern spe_program_handle_t order_spu;

static void *run(void *context)
{
    unsigned int entry = SPE_DEFAULT_ENTRY;

    spe_context_run(context, &entry, 0, NULL, NULL, NULL);
    return NULL;
}

int main(void)
{
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    pthread_t thread;
    unsigned int word = 1;

    spe_program_load(spe, &order_spu);
    printf("PPU 1, ");
    pthread_create(&thread, NULL, run, spe);
    while (spe_out_mbox_read(spe, &word, 1) == 0)
        ;
    printf("PPU 3, ");
    spe_in_mbox_write(spe, &word, 1, SPE_MBOX_ALL_BLOCKING);
    while (spe_out_mbox_read(spe, &word, 1) == 0)
        ;
    printf("PPU 5, ");
    spe_signal_write(spe, SPE_SIG_NOTIFY_REG_1, 1);
    pthread_join(thread, NULL);
    printf("PPU 7\n");
    return 0;
}
