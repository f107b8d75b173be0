/* Ways in which a program of either side ends itself. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    static char line[80];
    FILE *file = fopen("missing.txt", "r");
#if WAY == 1
    fgets(line, sizeof line, file);
#elif WAY == 2
    fputs(line, file);
#elif WAY == 3
    fprintf(file, "%d\n", line[0]);
#elif WAY == 4
    fclose(file);
#elif WAY == 5
    fread(line, 1, sizeof line, file);
#elif WAY == 6
    fscanf(file, "%79s", line);
#elif WAY == 7
    printf("%s\n", __func__);
    fflush(stdout);
    assert(file != NULL && "a file");
#elif WAY == 8
    raise(SIGTERM);
#elif WAY == 9
    abort();
#elif WAY == 10
    __builtin_trap();
#elif WAY == 11
    void (*none)(char *) = (void (*)(char *))file;
    none(line);
#elif WAY == 12
    char *freed = malloc(40), *kept = malloc(40);
    free(freed);
    free(freed);
    puts(kept);
#elif WAY == 13
    free(line + 16);
#elif WAY == 14
    char *first = malloc(24), *second = malloc(24);
    for (volatile char *at = first; at < first + 40; at++)
        *at = 'x';
    free(second);
#endif
    printf("%s\n", line);
    return 0;
}
