#include <spu_mfcio.h>

int main(unsigned long long id, unsigned long long argp, unsigned long long envp)
{
    static int numbers[32] __attribute__((aligned(128)));
    unsigned i;

    mfc_get(numbers, argp, envp * sizeof *numbers, 0, 0, 0);
    mfc_write_tag_mask(1);
    mfc_read_tag_status_all();
    for (i = 0; i < envp; i++)
        numbers[i] *= numbers[i];
    mfc_put(numbers, argp, envp * sizeof *numbers, 0, 0, 0);
    mfc_read_tag_status_all();
    return 0;
}
