#include <spu_intrinsics.h>
#include <stdio.h>

static void print(vector unsigned int words) {
    printf("%x %x %x %x\n", spu_extract(words, 0), spu_extract(words, 1), spu_extract(words, 2),
           spu_extract(words, 3));
}

int main(vector unsigned int id, vector unsigned int argument, vector unsigned int environment) {
    (void)id;
    print(argument);
    print(environment);
    return 0;
}
