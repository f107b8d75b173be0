/* The PPU reaches a running SPE: its local store as memory, proxy DMA, signals, mailboxes with
 * their modes; and one SPE reaches another by addresses of the PPU. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern spe_program_handle_t areas_spu;

static char block[256] __attribute__((aligned(128)));
static unsigned long long info[2][4] __attribute__((aligned(128)));

static spe_context_ptr_t spe[2];

static void *run(void *number) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    int i = (long)number;
    spe_context_run(spe[i], &entry, 0, info[i], NULL, NULL);
    return NULL;
}

int main(void) {
    pthread_t thread[2];
    unsigned int words[6] = {1, 2, 3, 4, 5, 6}, word, status;
    for (int i = 0; i < 2; i++) {
        spe[i] = spe_context_create(SPE_MAP_PS | SPE_CFG_SIGNOTIFY1_OR, NULL);
        if (!spe[i] || spe_program_load(spe[i], &areas_spu))
            return 1;
    }
    for (int i = 0; i < 2; i++) {
        info[i][0] = i;
        info[i][1] = (unsigned long)spe_ls_area_get(spe[1 - i]);
        info[i][2] = (unsigned long)spe_ps_area_get(spe[1 - i], SPE_SIG_NOTIFY_2_AREA);
        info[i][3] = (unsigned long)spe_ps_area_get(spe[1 - i], SPE_CONTROL_AREA);
    }
    printf("status %d %d %d\n", spe_in_mbox_status(spe[0]), spe_out_mbox_status(spe[0]),
           spe_out_intr_mbox_status(spe[0]));
    printf("written before the start: %d of 6\n",
           spe_in_mbox_write(spe[0], words, 6, SPE_MBOX_ANY_NONBLOCKING));
    printf("and of 2 more: %d\n", spe_in_mbox_write(spe[0], words, 2, SPE_MBOX_ANY_NONBLOCKING));
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, (void *)(long)i);
    printf("written: %d\n", spe_in_mbox_write(spe[0], words + 4, 2, SPE_MBOX_ALL_BLOCKING));

    /* The SPE says where its buffer is. */
    spe_out_intr_mbox_read(spe[0], &word, 1, SPE_MBOX_ALL_BLOCKING);
    char *local = (char *)spe_ls_area_get(spe[0]) + word;
    printf("in its local store: %s\n", local);
    strcpy(local, "written by the PPU");
    memset(block, 'x', 64);
    spe_mfcio_get(spe[0], word + 64, block, 64, 5, 0, 0);
    spe_mfcio_tag_status_read(spe[0], 1 << 5, SPE_TAG_ALL, &status);
    printf("tag status %#x\n", status);
    spe_signal_write(spe[0], SPE_SIG_NOTIFY_REG_1, 0x10);
    spe_signal_write(spe[0], SPE_SIG_NOTIFY_REG_1, 0x1);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    while (spe_out_mbox_status(spe[1]) == 0)
        ;
    spe_out_mbox_read(spe[1], &word, 1);
    printf("SPE 1 got %u from SPE 0\n", word);
    return 0;
}
