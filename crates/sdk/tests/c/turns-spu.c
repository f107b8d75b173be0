/* Computes in a way that calls nothing, for longer than a slice of time, as the word says; then
   writes to the variable of its brother, or ends. */
#include <spu_mfcio.h>
#include <stdio.h>

static volatile int flag;
static volatile unsigned turns = 3;

/* A function that only calls itself. */
static unsigned deep(unsigned depth) {
    return depth == 0 ? turns & 1 : deep(depth - 1) + deep(depth - 1);
}

int main(unsigned long long id, unsigned long long way) {
    unsigned sum = 1;
    switch (way) {
    case 0: /* a loop over registers that never ends */
        while (sum)
            sum = sum * 5 + 2 * sum + 1 | 1;
        break;
    case 1: /* calls that end in a year */
        sum = deep(55);
        break;
    case 2: /* a loop over memory */
        while (!flag)
            ;
        break;
    case 3: /* loops of known turns in a loop that never ends */
        for (;;)
            for (int i = 0; i < 60000; i++)
                turns = turns + 1;
    }
    printf("%u\n", sum);
    return 0;
}
