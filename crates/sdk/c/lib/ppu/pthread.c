/* POSIX threads. The threads of a program take turns: one runs until it waits or its slice of time
 * ends. Slices end at calls and at the ends of loops, so a few words are changed in one turn. What
 * takes longer holds the turn (lib/libc/turn.h).
 *
 * Every wait is one import: wait while a word has a value. The machine looks at the word again when
 * another thread has run.
 *
 * A thread that is cancelled ends at the next of these: pthread_testcancel, pthread_join, waits for
 * conditions and semaphores, sleeps, and read. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

#include "../libc/turn.h"
#include "call.h"

extern int thread_create(void *start, unsigned stack_bottom, unsigned stack_top)
    __asm__("ppu.thread_create");
extern int thread_join(unsigned thread, void **value) __asm__("ppu.thread_join");
extern int thread_detach(unsigned thread) __asm__("ppu.thread_detach");
extern _Noreturn void thread_exit(void *value) __asm__("ppu.thread_exit");
extern int thread_yield(void) __asm__("ppu.thread_yield");
/* Ends the wait of a thread, or its next one: a join by EINTR, and others as if they were over. */
extern int thread_wake(unsigned thread) __asm__("ppu.thread_wake");
extern int wait_word(volatile int *at, int word, long long timeout, int what)
    __asm__("ppu.wait_word");

/* What a wait is for, as the machine names it in reports. */
enum { MUTEX, CONDITION, BARRIER, SEMAPHORE, ONCE, RWLOCK };

#define FOREVER (-1ll)
#define STACK_BYTES (1 << 20)

/* Returns the nanoseconds until a time of day, 0 if it has passed. */
static long long until(const struct timespec *time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long long left = (time->tv_sec - now.tv_sec) * 1000000000ll + time->tv_nsec - now.tv_nsec;
    return left > 0 ? left : 0;
}

/* Threads. A pthread_t is the number of the thread on the machine plus 1. The machine uses the
 * number of a thread again after it was joined, or was detached and has ended. */

#define KEYS 128

/* A variable of which each thread has its own. */
struct variable {
    const void *first;
    void *own;
};

struct thread {
    unsigned number;
    int detached, ended;
    int cancelled, keeps_on, type;
    void *stack;
    void *start, *argument;
    const void *values[KEYS];
    struct __cw_cleanup *cleanups;
    /* A hash table by the addresses of the first values, at most half full. */
    struct variable *variables;
    unsigned used, room;
    /* In `ended_threads`. */
    struct thread *next;
};
static struct thread main_thread;

/* The threads that `main` has not started, by their numbers. */
static struct thread **threads;
static unsigned threads_room;

/* Detached threads that have ended: none of them could free its own stack. */
static struct thread *ended_threads;

static struct {
    int used;
    void (*destructor)(void *);
} keys[KEYS];

static struct thread *self(void) {
    struct thread *self = __cw_turn.thread;
    return self ? self : &main_thread;
}

static struct thread *find(unsigned number) {
    return number < threads_room ? threads[number] : NULL;
}

static int is_cancelled(void) {
    struct thread *thread = self();
    return thread->cancelled && !thread->keeps_on;
}

/* Frees what a thread had, in one turn. */
static void forget(struct thread *thread) {
    if (find(thread->number) == thread)
        threads[thread->number] = NULL;
    for (unsigned at = 0; at < thread->room; at++)
        free(thread->variables[at].own);
    free(thread->variables);
    free(thread->stack);
    free(thread);
}

static void forget_ended(void) {
    while (ended_threads) {
        struct thread *thread = ended_threads;
        ended_threads = thread->next;
        forget(thread);
    }
}

static void ends(struct thread *thread) {
    /* A destructor may set values again, a few times (POSIX: PTHREAD_DESTRUCTOR_ITERATIONS). */
    for (int round = 0, again = 1; again && round < 4; round++) {
        again = 0;
        for (int key = 0; key < KEYS; key++) {
            void *value = (void *)thread->values[key];
            if (!value || !keys[key].used || !keys[key].destructor)
                continue;
            thread->values[key] = NULL;
            call(keys[key].destructor, value, NULL);
            again = 1;
        }
    }
    /* It keeps its turn until the machine has ended it, because its stack may be freed then. */
    __cw_hold();
    thread->ended = 1;
    if (thread->detached) {
        threads[thread->number] = NULL;
        thread->next = ended_threads;
        ended_threads = thread;
    }
}

/* Returns the place of a variable in the table of a thread. */
static struct variable *place(struct variable *variables, unsigned room, const void *first) {
    unsigned at = (uintptr_t)first / 4 * 2654435761u;
    while (variables[at & (room - 1)].own && variables[at & (room - 1)].first != first)
        at++;
    return &variables[at & (room - 1)];
}

/* Returns the running thread's own variable. `cellworks cc` calls it for each use of a variable
 * that is declared with __thread. Its first value is never changed. */
void *__cell_thread_local(const void *first, unsigned bytes, unsigned alignment) {
    struct thread *thread = self();
    struct variable *found = thread->room ? place(thread->variables, thread->room, first) : NULL;
    if (found && found->own)
        return found->own;
    __cw_hold();
    if (2 * (thread->used + 1) > thread->room) {
        unsigned room = thread->room ? 2 * thread->room : 16;
        struct variable *larger = calloc(room, sizeof *larger);
        if (!larger)
            abort();
        for (unsigned at = 0; at < thread->room; at++)
            if (thread->variables[at].own)
                *place(larger, room, thread->variables[at].first) = thread->variables[at];
        free(thread->variables);
        thread->variables = larger;
        thread->room = room;
    }
    if (alignment < 16)
        alignment = 16;
    void *own = aligned_alloc(alignment, (bytes + alignment - 1) & -alignment);
    if (!own)
        abort();
    memcpy(own, first, bytes);
    *place(thread->variables, thread->room, first) = (struct variable){first, own};
    thread->used++;
    __cw_release();
    return own;
}

struct attributes {
    size_t stack_bytes;
    int detached;
    /* What a program has set, and may ask for again. */
    int scope, inherit, policy, priority;
};

/* The machine calls this in a new thread. */
void *__cell_thread(struct thread *thread) {
    __cw_turn.thread = thread;
    void *value = call(thread->start, thread->argument, NULL);
    ends(thread);
    return value;
}

static int create(struct thread *made, const struct attributes *given) {
    size_t bytes = given && given->stack_bytes ? given->stack_bytes : STACK_BYTES;
    bytes = (bytes + 15) & ~(size_t)15;
    char *stack = made->stack = aligned_alloc(16, bytes);
    if (!stack)
        return EAGAIN;
    int number = thread_create(made, (unsigned)stack, (unsigned)stack + bytes);
    if ((unsigned)number >= threads_room) {
        unsigned room = 2 * number + 16;
        struct thread **larger = realloc(threads, room * sizeof *threads);
        if (!larger)
            abort();
        memset(larger + threads_room, 0, (room - threads_room) * sizeof *threads);
        threads = larger;
        threads_room = room;
    }
    threads[number] = made;
    made->number = number;
    if (given && given->detached)
        pthread_detach((pthread_t)(uintptr_t)(number + 1));
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    /* Until it is done, the new thread has no turn. */
    __cw_hold();
    forget_ended();
    struct thread *made = calloc(1, sizeof *made);
    int error = EAGAIN;
    if (made) {
        made->start = (void *)run;
        made->argument = argument;
        error = create(made, (const struct attributes *)attributes);
        if (error)
            free(made);
        else if (thread)
            *thread = (pthread_t)(uintptr_t)(made->number + 1);
    }
    __cw_release();
    return error;
}

int pthread_join(pthread_t thread, void **value) {
    unsigned number = (unsigned)(uintptr_t)thread - 1;
    struct thread *joined = find(number);
    int error;
    if (joined && joined->detached)
        return EINVAL;
    do {
        pthread_testcancel();
        error = -thread_join(number, value);
    } while (error == EINTR);
    if (!error && joined) {
        __cw_hold();
        forget(joined);
        __cw_release();
    }
    return error;
}

int pthread_detach(pthread_t thread) {
    unsigned number = (unsigned)(uintptr_t)thread - 1;
    struct thread *detached = find(number);
    if (detached && detached->detached)
        return EINVAL;
    __cw_hold();
    int error = -thread_detach(number);
    if (!error && detached) {
        detached->detached = 1;
        if (detached->ended)
            forget(detached);
    }
    __cw_release();
    return error;
}

void __cw_cleanup_push(struct __cw_cleanup *cleanup) {
    cleanup->next = self()->cleanups;
    self()->cleanups = cleanup;
}

void __cw_cleanup_pop(struct __cw_cleanup *cleanup, int execute) {
    self()->cleanups = cleanup->next;
    if (execute)
        call(cleanup->function, cleanup->argument, NULL);
}

void pthread_exit(void *value) {
    self()->keeps_on = 1;
    while (self()->cleanups)
        __cw_cleanup_pop(self()->cleanups, 1);
    ends(self());
    thread_exit(value);
}

pthread_t pthread_self(void) { return (pthread_t)(uintptr_t)(self()->number + 1); }
int pthread_equal(pthread_t one, pthread_t other) { return one == other; }
int pthread_yield(void) { return thread_yield(); }
int sched_yield(void) { return thread_yield(); }

/* The first thread has the number of the process. */
pid_t gettid(void) { return getpid() + (pid_t)self()->number; }

long syscall(long number, ...) {
    if (number == SYS_gettid)
        return gettid();
    errno = ENOSYS;
    return -1;
}

int pthread_cancel(pthread_t thread) {
    unsigned number = (unsigned)(uintptr_t)thread - 1;
    struct thread *other = number == main_thread.number ? &main_thread : find(number);
    if (!other)
        return ESRCH;
    other->cancelled = 1;
    if (!other->keeps_on && other != self() && !other->ended)
        thread_wake(number);
    return 0;
}

void pthread_testcancel(void) {
    if (is_cancelled())
        pthread_exit(PTHREAD_CANCELED);
}

int pthread_setcancelstate(int state, int *old) {
    struct thread *thread = self();
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE)
        return EINVAL;
    if (old)
        *old = thread->keeps_on;
    thread->keeps_on = state;
    return 0;
}

/* A thread that others cancel ends where it asks the system for something, whatever its type. */
int pthread_setcanceltype(int type, int *old) {
    struct thread *thread = self();
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)
        return EINVAL;
    if (old)
        *old = thread->type;
    thread->type = type;
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS)
        pthread_testcancel();
    return 0;
}

ssize_t read(int file, void *to, size_t bytes) {
    struct iovec part = {to, bytes};
    pthread_testcancel();
    return readv(file, &part, 1);
}

/* All threads have one mask and the same handlers, so who sends a signal can handle it. */
int pthread_kill(pthread_t thread, int number) {
    unsigned found = (unsigned)(uintptr_t)thread - 1;
    struct thread *other = find(found);
    if (found != main_thread.number && (!other || other->ended))
        return ESRCH;
    return number && raise(number) ? errno : 0;
}

int pthread_attr_init(pthread_attr_t *attributes) {
    *(struct attributes *)attributes = (struct attributes){.stack_bytes = STACK_BYTES};
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attributes) {
    (void)attributes;
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attributes, int detached) {
    ((struct attributes *)attributes)->detached = detached;
    return 0;
}

int pthread_attr_getdetachstate(const pthread_attr_t *attributes, int *detached) {
    *detached = ((const struct attributes *)attributes)->detached;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes) {
    if (bytes < 16384)
        return EINVAL;
    ((struct attributes *)attributes)->stack_bytes = bytes;
    return 0;
}

int pthread_attr_getstacksize(const pthread_attr_t *attributes, size_t *bytes) {
    *bytes = ((const struct attributes *)attributes)->stack_bytes;
    return 0;
}

/* How threads are scheduled is not for a program to choose here. What it sets changes nothing. */
#define CHOICE(name, field)                                                                         \
    int pthread_attr_set##name(pthread_attr_t *attributes, int value) {                             \
        ((struct attributes *)attributes)->field = value;                                           \
        return 0;                                                                                   \
    }                                                                                               \
    int pthread_attr_get##name(const pthread_attr_t *attributes, int *value) {                      \
        *value = ((const struct attributes *)attributes)->field;                                    \
        return 0;                                                                                   \
    }

CHOICE(scope, scope)
CHOICE(inheritsched, inherit)
CHOICE(schedpolicy, policy)

int pthread_attr_setschedparam(pthread_attr_t *attributes, const struct sched_param *parameters) {
    ((struct attributes *)attributes)->priority = parameters->sched_priority;
    return 0;
}

int pthread_attr_getschedparam(const pthread_attr_t *attributes, struct sched_param *parameters) {
    parameters->sched_priority = ((const struct attributes *)attributes)->priority;
    return 0;
}

/* Mutexes. */

struct mutex {
    volatile int locked;
    unsigned owner;
    int depth;
    int type;
};

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    memset(mutex, 0, sizeof *mutex);
    if (attributes)
        ((struct mutex *)mutex)->type = *(const int *)attributes;
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    return ((struct mutex *)mutex)->locked ? EBUSY : 0;
}

/* Locks a mutex, if it is not locked. */
static int try(pthread_mutex_t *locked) {
    struct mutex *mutex = (struct mutex *)locked;
    unsigned running = self()->number;
    if (mutex->locked) {
        if (mutex->type != PTHREAD_MUTEX_RECURSIVE || mutex->owner != running)
            return EBUSY;
        mutex->depth++;
        return 0;
    }
    mutex->locked = 1;
    mutex->owner = running;
    mutex->depth = 1;
    return 0;
}

/* Programs call it in loops, so others have their turn. */
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    int error = try(mutex);
    if (error)
        thread_yield();
    return error;
}

static int lock(pthread_mutex_t *locked, long long timeout) {
    struct mutex *mutex = (struct mutex *)locked;
    while (try(locked)) {
        if (mutex->type == PTHREAD_MUTEX_ERRORCHECK && mutex->owner == self()->number)
            return EDEADLK;
        if (wait_word(&mutex->locked, 1, timeout, MUTEX))
            return ETIMEDOUT;
    }
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) { return lock(mutex, FOREVER); }

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time) {
    return lock(mutex, until(time));
}

int pthread_mutex_unlock(pthread_mutex_t *locked) {
    struct mutex *mutex = (struct mutex *)locked;
    if (mutex->type != PTHREAD_MUTEX_NORMAL && (!mutex->locked || mutex->owner != self()->number))
        return EPERM;
    if (mutex->type == PTHREAD_MUTEX_RECURSIVE && --mutex->depth > 0)
        return 0;
    mutex->locked = 0;
    return 0;
}

int pthread_mutexattr_init(pthread_mutexattr_t *attributes) {
    *(int *)attributes = PTHREAD_MUTEX_DEFAULT;
    return 0;
}

int pthread_mutexattr_destroy(pthread_mutexattr_t *attributes) {
    (void)attributes;
    return 0;
}

int pthread_mutexattr_settype(pthread_mutexattr_t *attributes, int type) {
    if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ERRORCHECK)
        return EINVAL;
    *(int *)attributes = type;
    return 0;
}

int pthread_mutexattr_gettype(const pthread_mutexattr_t *attributes, int *type) {
    *type = *(const int *)attributes;
    return 0;
}

int pthread_mutexattr_setpshared(pthread_mutexattr_t *attributes, int shared) {
    (void)attributes;
    return shared == PTHREAD_PROCESS_PRIVATE ? 0 : ENOTSUP;
}

/* Conditions. A waiter takes a ticket and waits until the ticket was served. */

struct condition {
    volatile int served;
    int tickets;
};

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    (void)attributes;
    memset(condition, 0, sizeof *condition);
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *condition) {
    (void)condition;
    return 0;
}

static int wait_for(pthread_cond_t *waited, pthread_mutex_t *mutex, long long timeout) {
    struct condition *condition = (struct condition *)waited;
    int result = 0;
    pthread_testcancel();
    int ticket = condition->tickets++;
    pthread_mutex_unlock(mutex);
    for (int served; (served = condition->served) - ticket <= 0;) {
        int is_over = wait_word(&condition->served, served, timeout, CONDITION);
        if (is_over || is_cancelled()) {
            /* Its ticket stays, so a signal may be spent on it. The next waiter is served as well:
               POSIX allows a wait to end without a signal. */
            condition->served++;
            result = ETIMEDOUT;
            break;
        }
    }
    lock(mutex, FOREVER);
    pthread_testcancel();
    return result;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    return wait_for(condition, mutex, FOREVER);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *time) {
    return wait_for(condition, mutex, until(time));
}

int pthread_cond_signal(pthread_cond_t *signaled) {
    struct condition *condition = (struct condition *)signaled;
    if (condition->served != condition->tickets)
        condition->served++;
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *signaled) {
    struct condition *condition = (struct condition *)signaled;
    condition->served = condition->tickets;
    return 0;
}

int pthread_condattr_init(pthread_condattr_t *attributes) {
    (void)attributes;
    return 0;
}

int pthread_condattr_destroy(pthread_condattr_t *attributes) {
    (void)attributes;
    return 0;
}

/* Barriers. */

struct barrier {
    volatile int round;
    unsigned count, waiting;
};

int pthread_barrier_init(pthread_barrier_t *made, const pthread_barrierattr_t *attributes,
                         unsigned count) {
    struct barrier *barrier = (struct barrier *)made;
    (void)attributes;
    if (count == 0)
        return EINVAL;
    *barrier = (struct barrier){0, count, 0};
    return 0;
}

int pthread_barrier_destroy(pthread_barrier_t *barrier) {
    return ((struct barrier *)barrier)->waiting ? EBUSY : 0;
}

int pthread_barrier_wait(pthread_barrier_t *waited) {
    struct barrier *barrier = (struct barrier *)waited;
    int round = barrier->round;
    if (++barrier->waiting == barrier->count) {
        barrier->waiting = 0;
        barrier->round++;
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while (barrier->round == round)
        wait_word(&barrier->round, round, FOREVER, BARRIER);
    return 0;
}

/* Locks for readers and writers: -1 while one writes, else the number of readers. */

struct rwlock {
    volatile int state;
};

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    (void)attributes;
    memset(lock, 0, sizeof *lock);
    return 0;
}

int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
    return ((struct rwlock *)lock)->state ? EBUSY : 0;
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    struct rwlock *rwlock = (struct rwlock *)lock;
    if (rwlock->state < 0)
        return EBUSY;
    rwlock->state++;
    return 0;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    while (pthread_rwlock_tryrdlock(lock))
        wait_word(&((struct rwlock *)lock)->state, -1, FOREVER, RWLOCK);
    return 0;
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    struct rwlock *rwlock = (struct rwlock *)lock;
    if (rwlock->state)
        return EBUSY;
    rwlock->state = -1;
    return 0;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    struct rwlock *rwlock = (struct rwlock *)lock;
    while (pthread_rwlock_trywrlock(lock)) {
        int state = rwlock->state;
        if (state)
            wait_word(&rwlock->state, state, FOREVER, RWLOCK);
    }
    return 0;
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    struct rwlock *rwlock = (struct rwlock *)lock;
    rwlock->state = rwlock->state < 0 ? 0 : rwlock->state - 1;
    return 0;
}

/* Spin locks. */

int pthread_spin_init(pthread_spinlock_t *lock, int shared) {
    (void)shared;
    *lock = 0;
    return 0;
}

int pthread_spin_destroy(pthread_spinlock_t *lock) {
    (void)lock;
    return 0;
}

int pthread_spin_trylock(pthread_spinlock_t *lock) {
    if (*lock) {
        thread_yield();
        return EBUSY;
    }
    *lock = 1;
    return 0;
}

int pthread_spin_lock(pthread_spinlock_t *lock) {
    while (*lock)
        wait_word((volatile int *)lock, 1, FOREVER, MUTEX);
    *lock = 1;
    return 0;
}

int pthread_spin_unlock(pthread_spinlock_t *lock) {
    *lock = 0;
    return 0;
}

/* Once, and keys. */

int pthread_once(pthread_once_t *once, void (*run)(void)) {
    volatile int *state = (volatile int *)once;
    if (*state == 0) {
        *state = 1;
        call(run, NULL, NULL);
        *state = 2;
    }
    while (*state == 1)
        wait_word(state, 1, FOREVER, ONCE);
    return 0;
}

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    int found = 0;
    __cw_hold();
    while (found < KEYS && keys[found].used)
        found++;
    if (found < KEYS) {
        keys[found].used = 1;
        keys[found].destructor = destructor;
        main_thread.values[found] = NULL;
        for (unsigned at = 0; at < threads_room; at++)
            if (threads[at])
                threads[at]->values[found] = NULL;
        *key = found;
    }
    __cw_release();
    return found < KEYS ? 0 : EAGAIN;
}

int pthread_key_delete(pthread_key_t key) {
    if (key >= KEYS || !keys[key].used)
        return EINVAL;
    keys[key].used = 0;
    return 0;
}

void *pthread_getspecific(pthread_key_t key) {
    return key < KEYS ? (void *)self()->values[key] : NULL;
}

int pthread_setspecific(pthread_key_t key, const void *value) {
    if (key >= KEYS || !keys[key].used)
        return EINVAL;
    self()->values[key] = value;
    return 0;
}

/* Semaphores. */

int sem_init(sem_t *semaphore, int shared, unsigned value) {
    (void)shared;
    semaphore->value = value;
    return 0;
}

int sem_destroy(sem_t *semaphore) {
    (void)semaphore;
    return 0;
}

int sem_trywait(sem_t *semaphore) {
    if (semaphore->value <= 0) {
        errno = EAGAIN;
        return -1;
    }
    semaphore->value--;
    return 0;
}

static int take(sem_t *semaphore, long long timeout) {
    pthread_testcancel();
    while (sem_trywait(semaphore)) {
        if (wait_word(&semaphore->value, 0, timeout, SEMAPHORE)) {
            errno = ETIMEDOUT;
            return -1;
        }
        pthread_testcancel();
    }
    return 0;
}

int sem_wait(sem_t *semaphore) { return take(semaphore, FOREVER); }
int sem_timedwait(sem_t *semaphore, const struct timespec *time) { return take(semaphore, until(time)); }

int sem_post(sem_t *semaphore) {
    semaphore->value++;
    return 0;
}

int sem_getvalue(sem_t *semaphore, int *value) {
    *value = semaphore->value;
    return 0;
}

/* Sleeps. All of them are this one in the C library. */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *rest) {
    int is_day = clock == CLOCK_REALTIME;
    __wasi_subscription_t wanted = {
        .u.tag = __WASI_EVENTTYPE_CLOCK,
        .u.u.clock.id = is_day ? __WASI_CLOCKID_REALTIME : __WASI_CLOCKID_MONOTONIC,
        .u.u.clock.flags = flags,
        .u.u.clock.timeout = time->tv_sec * 1000000000ll + time->tv_nsec,
    };
    __wasi_event_t event;
    size_t events;
    (void)rest;
    if (flags & ~TIMER_ABSTIME || time->tv_sec < 0 || (unsigned long)time->tv_nsec > 999999999)
        return EINVAL;
    pthread_testcancel();
    (void)__wasi_poll_oneoff(&wanted, &event, 1, &events);
    pthread_testcancel();
    return 0;
}
