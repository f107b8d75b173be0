#include <spu_mfcio.h>
#include <stdio.h>
#include <string.h>

static char buffer[128] __attribute__((aligned(128))) = "from the start";
static unsigned long long info[4] __attribute__((aligned(128)));
static unsigned int words[4] __attribute__((aligned(16)));

static void wait(void) {
    mfc_write_tag_mask(1 << 2);
    mfc_read_tag_status_all();
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    mfc_get(info, argp, sizeof info, 2, 0, 0);
    wait();
    if (info[0] == 0) {
        unsigned int sum = 0;
        for (int i = 0; i < 6; i++)
            sum += spu_read_in_mbox();
        spu_write_out_intr_mbox((unsigned int)buffer);
        while (spu_stat_signal1() == 0)
            ;
        unsigned int signal = 0;
        while (signal != 0x11)
            signal |= spu_read_signal1();
        printf("SPE 0: the words are %u in all, the signal is %#x, %s, %c\n", sum, signal, buffer, buffer[64]);
        /* A word for the signal register and the mailbox of SPE 1: at the same place in a
           quadword. */
        words[3] = 0x55;
        mfc_sndsig(&words[3], info[2] + 12, 2, 0, 0);
        wait();
        words[3] = 99;
        mfc_put(&words[3], info[3] + 12, 4, 2, 0, 0);
        wait();
    } else {
        printf("SPE 1: signal %#x\n", spu_read_signal2());
        spu_write_out_mbox(spu_read_in_mbox());
    }
    return 0;
}
