/* Functions of other types where POSIX wants `void *f(void *)`, as old programs have them. */
#include <pthread.h>
#include <stdio.h>

static int sum;
static void nothing(void) { sum += 1; }
static int number(int argument) { sum += argument; return argument + 1; }
static void *none() { sum += 100; return &sum; }
static void *two(void *first, void *second) { sum += second == NULL ? 1000 : 0; return first; }
static long long wide(long long argument) { sum += argument * 10000; return argument; }
static float point(float argument) { sum += argument == 0 ? 100000 : 0; return 1; }
static int once_function(int argument) { sum += 1000000; return argument; }

int main(void) {
    typedef void *(*start)(void *);
    pthread_t thread;
    void *value;
    pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_create(&thread, NULL, (start)nothing, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, (start)number, (void *)10);
    pthread_join(thread, &value);
    printf("number returns %d\n", (int)value);
    pthread_create(&thread, NULL, (start)none, NULL);
    pthread_join(thread, &value);
    printf("none returns its value: %d\n", value == &sum);
    pthread_create(&thread, NULL, (start)two, &once);
    pthread_join(thread, &value);
    printf("two returns its argument: %d\n", value == &once);
    pthread_create(&thread, NULL, (start)wide, (void *)3);
    pthread_join(thread, &value);
    printf("wide returns %d\n", (int)value);
    pthread_create(&thread, NULL, (start)point, (void *)3);
    pthread_join(thread, &value);
    pthread_once(&once, (void (*)(void))once_function);
    pthread_once(&once, (void (*)(void))once_function);
    printf("sum %d\n", sum);
    return 0;
}
