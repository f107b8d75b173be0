/* The attraction of bodies, each a vector of its coordinates: one load, a square root and a
 * division in each step. */
#include "kernel.h"

#define BODIES 256

static f32x4 places[BODIES], speeds[BODIES];

static void prepare(void)
{
    for (int body = 0; body < BODIES; body++)
        places[body] = (f32x4){(float)body * 0.37f, (float)(body % 7), (float)(body % 13), 0};
}

static unsigned work(void)
{
    for (int step = 0; step < 10; step++) {
        for (int body = 0; body < BODIES; body++) {
            f32x4 sum = {0}, place = places[body];

            for (int other = 0; other < BODIES; other++) {
                f32x4 way = places[other] - place, square = way * way;
                float distance = square[0] + square[1] + square[2] + 0.01f;
                float weight = 1.0f / (distance * __builtin_sqrtf(distance));

                sum += way * (f32x4){weight, weight, weight, weight};
            }
            speeds[body] += sum * (f32x4){0.01f, 0.01f, 0.01f, 0.01f};
        }
        for (int body = 0; body < BODIES; body++)
            places[body] += speeds[body] * (f32x4){0.01f, 0.01f, 0.01f, 0.01f};
    }
    return (unsigned)(places[17][0] * 1e6f);
}
