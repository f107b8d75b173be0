/* Vectors that come from memory and go there: a sum of floats, and a filter of bytes. */
#include "kernel.h"

#define VECTORS 1024

static f32x4 x[VECTORS], y[VECTORS];
static u8x16 bytes[VECTORS], filtered[VECTORS];

static void prepare(void)
{
    unsigned seed = 99;

    for (int at = 0; at < VECTORS; at++) {
        for (int lane = 0; lane < 4; lane++) {
            seed = seed * 1664525u + 1013904223u;
            ((float *)x)[4 * at + lane] = (float)(seed >> 8) * 1e-6f;
            ((float *)y)[4 * at + lane] = (float)lane;
        }
        for (int lane = 0; lane < 16; lane++) {
            seed = seed * 1664525u + 1013904223u;
            ((unsigned char *)bytes)[16 * at + lane] = seed >> 24;
        }
    }
}

static unsigned work(void)
{
    unsigned sum = 0;

    for (int repeat = 0; repeat < 500; repeat++) {
        float first = 0.5f + (float)(repeat % 3);
        f32x4 a = {first, 0.25f, 0.125f, 1.0f}, half = {0.5f, 0.5f, 0.5f, 0.5f};

        for (int at = 0; at < VECTORS; at++)
            y[at] = a * x[at] + y[at] * half;
        for (int at = 1; at < VECTORS - 1; at++) {
            u8x16 left = __builtin_shufflevector(bytes[at - 1], bytes[at], 15, 16, 17, 18, 19, 20, 21, 22,
                23, 24, 25, 26, 27, 28, 29, 30);
            u8x16 right = __builtin_shufflevector(bytes[at], bytes[at + 1], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                11, 12, 13, 14, 15, 16);
            u8x16 larger = (u8x16)(left > right);

            filtered[at] = ((left & larger) | (right & ~larger)) ^ bytes[at];
        }
        sum += ((unsigned char *)filtered)[16 * (repeat & 1023) + 3] + (unsigned)((float *)y)[repeat];
    }
    return sum;
}
