/* An SPE sums an array that does not fit into its local store: while it adds one block, the next
 * one is on its way. */
#include <libspe2.h>
#include <stdio.h>
#include <stdlib.h>

#include "double-buffer.h"

extern spe_program_handle_t double_buffer_spu;

static unsigned int numbers[COUNT] __attribute__((aligned(128)));
static struct job job __attribute__((aligned(128)));

int main(void) {
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i % 1000;
    job.numbers = (unsigned long)numbers;
    job.count = COUNT;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &double_buffer_spu)) {
        perror("spe_context_create");
        return 1;
    }
    unsigned int entry = SPE_DEFAULT_ENTRY;
    if (spe_context_run(spe, &entry, 0, &job, NULL, NULL) < 0) {
        perror("spe_context_run");
        return 1;
    }
    unsigned long long sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += numbers[i];
    printf("the SPE's sum of %d numbers is %llu, and the PPU's is %llu\n", COUNT, job.sum, sum);
    spe_context_destroy(spe);
    return job.sum != sum;
}
