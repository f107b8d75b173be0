#include <spu_mfcio.h>
#include <stdio.h>

int main(void)
{
    printf("SPU 2, ");
    spu_write_out_mbox(1);
    spu_read_in_mbox();
    printf("SPU 4, ");
    spu_write_out_mbox(1);
    spu_read_signal1();
    printf("SPU 6, ");
    return 0;
}
