/* Ways to wait, on a simulated Cell: 0 waits for nothing, 1 is 40,000 round trips by mailboxes. For
 * some 5 ms each: in 2 the SPU polls the count of its mailbox, in 3 a word of its local store, and
 * in 4 the PPU polls the status of a mailbox
 * while the SPU computes, which it does in 5, too. */
#include <libspe2.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

extern spe_program_handle_t waits_spu;

static long way;

static void *run(void *context)
{
    unsigned int entry = SPE_DEFAULT_ENTRY;

    spe_context_run(context, &entry, 0, (void *)way, NULL, NULL);
    return NULL;
}

static unsigned answer(spe_context_ptr_t context)
{
    unsigned word;

    while (spe_out_mbox_status(context) == 0)
        ;
    spe_out_mbox_read(context, &word, 1);
    return word;
}

int main(int argc, char **argv)
{
    spe_context_ptr_t context = spe_context_create(0, NULL);
    pthread_t thread;
    unsigned word = 1;

    way = atoi(argv[argc - 1]);
    spe_program_load(context, &waits_spu);
    pthread_create(&thread, NULL, run, context);
    switch (way) {
    case 1:
        for (unsigned trip = 0; trip < 40000; trip++) {
            spe_in_mbox_write(context, &trip, 1, SPE_MBOX_ALL_BLOCKING);
            answer(context);
        }
        break;
    case 2:
        usleep(5000);
        spe_in_mbox_write(context, &word, 1, SPE_MBOX_ALL_BLOCKING);
        break;
    case 3: {
        unsigned at = answer(context);

        usleep(5000);
        *(volatile unsigned *)((char *)spe_ls_area_get(context) + at) = 1;
        break;
    }
    case 4:
        answer(context);
    }
    pthread_join(thread, NULL);
    return 0;
}
