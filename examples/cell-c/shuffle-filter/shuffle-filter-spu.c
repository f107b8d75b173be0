/* out[i] = (in[i - 1] + 2 in[i] + in[i + 1]) / 4, sixteen bytes at a time. */
#include <spu_intrinsics.h>
#include <spu_mfcio.h>

#include "shuffle-filter.h"

static struct image image __attribute__((aligned(128)));

/* The bytes of two quadwords from byte 15 of the first on, and from byte 1 on. */
static const vector unsigned char before = {15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
static const vector unsigned char after = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
/* The upper and the lower eight bytes as halfwords: 0x80 makes a byte 0. */
static const vector unsigned char upper = {0x80, 0, 0x80, 1, 0x80, 2, 0x80, 3, 0x80, 4, 0x80, 5, 0x80, 6, 0x80, 7};
static const vector unsigned char lower = {0x80, 8,  0x80, 9,  0x80, 10, 0x80, 11,
                                           0x80, 12, 0x80, 13, 0x80, 14, 0x80, 15};
/* The low byte of each halfword. */
static const vector unsigned char pack = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};

static vector unsigned short mean(vector unsigned char left, vector unsigned char middle,
                                  vector unsigned char right, vector unsigned char half) {
    vector unsigned short l = (vector unsigned short)spu_shuffle(left, left, half);
    vector unsigned short m = (vector unsigned short)spu_shuffle(middle, middle, half);
    vector unsigned short r = (vector unsigned short)spu_shuffle(right, right, half);
    return spu_rlmask(spu_add(spu_add(l, r), spu_add(m, m)), -2);
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    mfc_get(&image, argp, sizeof image.in, 1, 0, 0);
    mfc_write_tag_mask(1 << 1);
    mfc_read_tag_status_all();
    vector unsigned char *in = (vector unsigned char *)image.in;
    vector unsigned char *out = (vector unsigned char *)image.out;
    vector unsigned char zero = spu_splats((unsigned char)0);
    for (int i = 0; i < BYTES / 16; i++) {
        vector unsigned char last = i > 0 ? in[i - 1] : zero;
        vector unsigned char next = i + 1 < BYTES / 16 ? in[i + 1] : zero;
        vector unsigned char left = spu_shuffle(last, in[i], before);
        vector unsigned char right = spu_shuffle(in[i], next, after);
        vector unsigned short high = mean(left, in[i], right, upper);
        vector unsigned short low = mean(left, in[i], right, lower);
        out[i] = (vector unsigned char)spu_shuffle(high, low, pack);
    }
    mfc_put(image.out, argp + sizeof image.in, sizeof image.out, 1, 0, 0);
    mfc_read_tag_status_all();
    return 0;
}
