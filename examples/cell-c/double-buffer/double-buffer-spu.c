/* Sums the numbers of a job with two buffers. */
#include <spu_intrinsics.h>
#include <spu_mfcio.h>

#include "double-buffer.h"

#define BLOCK 4096

static vector unsigned int buffer[2][BLOCK / 4] __attribute__((aligned(128)));
static struct job job __attribute__((aligned(128)));

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    unsigned int tag[2] = {mfc_tag_reserve(), mfc_tag_reserve()};
    (void)id, (void)envp;
    mfc_get(&job, argp, sizeof job, tag[0], 0, 0);
    mfc_write_tag_mask(1 << tag[0]);
    mfc_read_tag_status_all();

    unsigned int blocks = job.count / BLOCK;
    unsigned long long sum = 0;
    mfc_get(buffer[0], job.numbers, sizeof buffer[0], tag[0], 0, 0);
    for (unsigned int block = 0; block < blocks; block++) {
        int now = block & 1, next = now ^ 1;
        if (block + 1 < blocks)
            mfc_get(buffer[next], job.numbers + (block + 1) * sizeof buffer[0], sizeof buffer[0],
                    tag[next], 0, 0);
        mfc_write_tag_mask(1 << tag[now]);
        mfc_read_tag_status_all();
        vector unsigned int four = spu_splats(0u);
        for (int i = 0; i < BLOCK / 4; i++)
            four = spu_add(four, buffer[now][i]);
        for (int i = 0; i < 4; i++)
            sum += spu_extract(four, i);
    }

    job.sum = sum;
    mfc_put(&job, argp, sizeof job, tag[0], 0, 0);
    mfc_write_tag_mask(1 << tag[0]);
    mfc_read_tag_status_all();
    return 0;
}
