/* The SPU's part of waits.c. */
#include <spu_mfcio.h>

static volatile unsigned word[4] __attribute__((aligned(16)));

int main(unsigned long long id, unsigned long long way)
{
    switch (way) {
    case 1:
        for (int trip = 0; trip < 40000; trip++)
            spu_write_out_mbox(spu_read_in_mbox() + 1);
        return 0;
    case 2:
        while (spu_stat_in_mbox() == 0)
            ;
        return 0;
    case 3:
        spu_write_out_mbox((unsigned)word);
        while (!word[0])
            ;
        return 0;
    case 4:
    case 5:
        for (int turn = 0; turn < 4000000; turn++)
            word[1] = turn;
        spu_write_out_mbox(1);
    }
    return 0;
}
