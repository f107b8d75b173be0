/* More contexts than SPEs take turns, and none loses its local store, its words or its signals. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CONTEXTS 20

extern spe_program_handle_t many_spu;

static spe_context_ptr_t spe[CONTEXTS];
static unsigned results[CONTEXTS][4] __attribute__((aligned(16)));
static int reasons[CONTEXTS];

static void *run(void *number) {
    int i = (int)number, code;
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    while ((code = spe_context_run(spe[i], &entry, 0, results[i], NULL, &stop)) > 0)
        reasons[i] += code;
    return NULL;
}

int main(void) {
    pthread_t thread[CONTEXTS];
    int right = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        unsigned words[2] = {i, 100 + i};
        spe[i] = spe_context_create(SPE_CFG_SIGNOTIFY1_OR, NULL);
        if (!spe[i] || spe_program_load(spe[i], &many_spu))
            return 1;
        /* What a program of an operating system may do before a context runs. */
        if (spe_in_mbox_write(spe[i], words, 2, SPE_MBOX_ALL_BLOCKING) != 2 || spe_in_mbox_status(spe[i]) != 2)
            return 2;
        spe_signal_write(spe[i], SPE_SIG_NOTIFY_REG_1, 1);
        spe_signal_write(spe[i], SPE_SIG_NOTIFY_REG_1, 4);
        memcpy((char *)spe_ls_area_get(spe[i]) + 0x3fff0, &i, sizeof i);
    }
    for (int i = 0; i < CONTEXTS; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < CONTEXTS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < CONTEXTS; i++) {
        unsigned word = 0;
        int stored;
        memcpy(&stored, (char *)spe_ls_area_get(spe[i]) + 0x3fff4, sizeof stored);
        int is_right = results[i][0] == i && results[i][1] == 100 + i && results[i][2] == 5
                       && results[i][3] == 3 * i && reasons[i] == 0x11 + 0x12 && stored == i + 1;
        is_right &= spe_out_mbox_status(spe[i]) == 1 && spe_out_mbox_read(spe[i], &word, 1) == 1;
        right += is_right && word == 7 * i;
        spe_context_destroy(spe[i]);
    }
    printf("right: %d of %d\n", right, CONTEXTS);
    return 0;
}
