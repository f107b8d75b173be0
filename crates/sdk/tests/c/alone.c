/* A program of an SPU without one of the PPU, as tutorials of intrinsics have them. */
#include <spu_intrinsics.h>
#include <stdio.h>

int main(int count, char **words) {
    vector signed int sum = spu_add((vector signed int){1, 2, 3, 4}, 1);
    (void)words;
    printf("%d arguments, %d %d %d %d\n", count, spu_extract(sum, 0), spu_extract(sum, 1), spu_extract(sum, 2),
           spu_extract(sum, 3));
    return 7;
}
