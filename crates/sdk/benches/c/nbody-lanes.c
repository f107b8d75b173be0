/* The attraction of bodies, four at a time: a vector for each coordinate. */
#include "kernel.h"

#define BODIES 256

static f32x4 x[BODIES / 4], y[BODIES / 4], z[BODIES / 4];
static f32x4 dx[BODIES / 4], dy[BODIES / 4], dz[BODIES / 4];

static f32x4 splat(float value) { return (f32x4){value, value, value, value}; }

static void prepare(void)
{
    for (int body = 0; body < BODIES; body++) {
        ((float *)x)[body] = (float)body * 0.37f;
        ((float *)y)[body] = (float)(body % 7);
        ((float *)z)[body] = (float)(body % 13);
    }
}

static f32x4 root(f32x4 value)
{
    return __builtin_elementwise_sqrt(value);
}

static unsigned work(void)
{
    for (int step = 0; step < 10; step++) {
        for (int four = 0; four < BODIES / 4; four++) {
            f32x4 ax = {0}, ay = {0}, az = {0};

            for (int other = 0; other < BODIES; other++) {
                f32x4 wx = splat(((float *)x)[other]) - x[four];
                f32x4 wy = splat(((float *)y)[other]) - y[four];
                f32x4 wz = splat(((float *)z)[other]) - z[four];
                f32x4 square = wx * wx + wy * wy + wz * wz + splat(0.01f);
                f32x4 weight = splat(1.0f) / (square * root(square));

                ax += wx * weight;
                ay += wy * weight;
                az += wz * weight;
            }
            dx[four] += ax * splat(0.01f);
            dy[four] += ay * splat(0.01f);
            dz[four] += az * splat(0.01f);
        }
        for (int four = 0; four < BODIES / 4; four++) {
            x[four] += dx[four] * splat(0.01f);
            y[four] += dy[four] * splat(0.01f);
            z[four] += dz[four] * splat(0.01f);
        }
    }
    return (unsigned)(((float *)x)[17] * 1e6f);
}
