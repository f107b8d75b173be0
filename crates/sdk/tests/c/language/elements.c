/* A type that is aligned by its name has arrays, although its size is no multiple of the alignment.
   The parameters of main have types of their own. */
#include <stdint.h>
#include <stdio.h>

typedef struct {
    int number;
    char rest[156];
} parameters __attribute__((aligned(128)));

parameters all[3];
parameters one;

int main(int number, int **arguments)
{
    all[2].number = 7;
    printf("%d %d ", sizeof(parameters), (char *)&all[2] - (char *)all);
    printf("%d %d\n", (int)((uintptr_t)&all[1] % 32), (int)((uintptr_t)&one % 32));
    return 0;
}
