/* Threads of the PPU that use the C library at the same time, each with variables of its own. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 6
#define BLOCKS 64

static __thread int number = 7;
static __thread char name[24] = "unnamed";
__thread struct {
    long long wide;
    float point;
} pair __attribute__((aligned(32))) = {5, 0.5f};
static volatile int wrong, ended;
static FILE *file, *characters;

/* Gives memory of many sizes back in another order, and finds in each block what it wrote. */
static void allocate(unsigned seed) {
    unsigned char *block[BLOCKS] = {0};
    size_t bytes[BLOCKS] = {0};
    for (int i = 0; i < 4000; i++) {
        seed = seed * 1103515245 + 12345;
        int at = seed >> 16 & (BLOCKS - 1);
        for (size_t byte = 0; byte < bytes[at]; byte++)
            if (block[at][byte] != (unsigned char)(number + at))
                wrong++;
        if (seed & 1) {
            free(block[at]);
            block[at] = NULL;
        }
        bytes[at] = (seed >> 8 & 0x3ff) + 1;
        block[at] = realloc(block[at], bytes[at]);
        memset(block[at], number + at, bytes[at]);
    }
    for (int at = 0; at < BLOCKS; at++)
        free(block[at]);
}

static void *work(void *argument) {
    if (number != 7 || strcmp(name, "unnamed") || pair.wide != 5 || pair.point != 0.5f
        || ((unsigned)&pair & 31))
        wrong++;
    number = *(int *)argument;
    sprintf(name, "thread %d", number);
    pair.wide = number;
    errno = 1000 + number;
    allocate(number);
    for (int line = 0; line < 200; line++) {
        fprintf(file, "%s writes line %d of %d\n", name, line, 200);
        for (const char *c = "one character after another"; *c; c++)
            putc(*c, characters);
    }
    if (errno != 1000 + number || pair.wide != number || number != *(int *)argument)
        wrong++;
    ended++;
    return NULL;
}

int main(void) {
    pthread_t thread[THREADS];
    int numbers[THREADS], lines = 0, next[THREADS + 1] = {0};
    char expected[100], *written = NULL, *others = NULL;
    size_t size, other_size;
    file = open_memstream(&written, &size);
    characters = open_memstream(&others, &other_size);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&thread[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fclose(file);
    fclose(characters);
    for (char *at = written, *end; (end = strchr(at, '\n')); at = end + 1) {
        int who, number;
        *end = 0;
        if (sscanf(at, "thread %d writes line %d of 200", &who, &number) == 2) {
            sprintf(expected, "thread %d writes line %d of 200", who, number);
            lines += !strcmp(at, expected) && number == next[who]++;
        }
    }
    printf("wrong %d, ended %d, own number %d, lines %d, characters %zu\n", wrong, ended, number, lines,
           other_size);
    return 0;
}
