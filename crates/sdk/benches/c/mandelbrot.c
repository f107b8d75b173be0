/* Four points of the Mandelbrot set at a time, in registers. */
#include "kernel.h"

#define ROWS 64
#define COLUMNS 64
#define STEPS 200

static s32x4 picture[ROWS][COLUMNS / 4];

static void prepare(void) {}

static s32x4 point(f32x4 cr, f32x4 ci)
{
    f32x4 zr = {0}, zi = {0};
    s32x4 count = {0};

    for (int step = 0; step < STEPS; step++) {
        f32x4 rr = zr * zr, ii = zi * zi;
        s32x4 inside = rr + ii < (f32x4){4, 4, 4, 4};

        if (!(inside[0] | inside[1] | inside[2] | inside[3]))
            break;
        count -= inside;
        zi = (zr + zr) * zi + ci;
        zr = rr - ii + cr;
    }
    return count;
}

static unsigned work(void)
{
    unsigned sum = 0;

    for (int repeat = 0; repeat < 4; repeat++)
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLUMNS / 4; column++) {
                float x = -2.0f + 0.0375f * (float)(4 * column), y = -1.0f + 0.03f * (float)row;
                f32x4 cr = {x, x + 0.0375f, x + 0.075f, x + 0.1125f}, ci = {y, y, y, y};
                s32x4 count = point(cr, ci);

                picture[row][column] = count;
                sum += count[0] + count[1] + count[2] + count[3];
            }
    return sum;
}
