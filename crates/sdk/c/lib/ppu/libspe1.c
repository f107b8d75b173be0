/* libspe, version 1, over libspe2: a thread is a context and a thread of the PPU that runs it. */
#include <errno.h>
#include <libspe.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

struct group {
    int policy, priority, use_events, count;
    /* The group of one thread that was given none. */
    int is_own;
    struct thread *first;
};

struct thread {
    spe_context_ptr_t spe;
    struct group *group;
    struct thread *next;
    pthread_t runs_it;
    int flags;
    void *argp, *envp, *app_data;
    unsigned long mask;
    spe_stop_info_t stop;
    /* STOPPED waits for SIGCONT. An event is told once. */
    enum { RUNS, STOPPED, ENDED } state;
    int is_told;
};

/* In libspe2.c: as spe_event_wait, but the wait also ends when a word is no longer `old`. */
extern int __cw_event_wait(spe_event_handler_ptr_t handler, spe_event_unit_t *events, int max_events,
                           int timeout, const volatile unsigned *word, unsigned old);

/* How often the state of a thread has changed. */
static volatile unsigned changes;

/* Of all threads and groups. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int default_policy = SCHED_OTHER, default_priority, default_events;

#define NEEDS(what, value)                                                                          \
    do {                                                                                            \
        if (!(what)) {                                                                              \
            errno = ESRCH;                                                                          \
            return value;                                                                           \
        }                                                                                           \
    } while (0)

static struct group *create_group(int policy, int priority, int use_events) {
    struct group *group = calloc(1, sizeof *group);
    if (group) {
        group->policy = policy;
        group->priority = priority;
        group->use_events = use_events;
    }
    return group;
}

spe_gid_t spe_create_group(int policy, int priority, int use_events) {
    return create_group(policy, priority, use_events);
}

int spe_destroy_group(spe_gid_t gid) {
    struct group *group = gid;
    NEEDS(group, -1);
    if (group->count) {
        errno = EBUSY;
        return -1;
    }
    free(group);
    return 0;
}

int spe_group_max(spe_gid_t gid) {
    (void)gid;
    return MAX_THREADS_PER_GROUP;
}

int spe_group_defaults(int policy, int priority, int use_events) {
    default_policy = policy;
    default_priority = priority;
    default_events = use_events;
    return 0;
}

int spe_get_threads(spe_gid_t gid, speid_t *threads) {
    struct group *group = gid;
    int count = 0;
    NEEDS(group, -1);
    for (struct thread *thread = group->first; thread; thread = thread->next)
        if (threads)
            threads[count++] = thread;
    return group->count;
}

int spe_get_priority(spe_gid_t gid) {
    struct group *group = gid;
    NEEDS(group, -1);
    return group->priority;
}

int spe_set_priority(spe_gid_t gid, int priority) {
    struct group *group = gid;
    NEEDS(group, -1);
    group->priority = priority;
    return 0;
}

int spe_get_policy(spe_gid_t gid) {
    struct group *group = gid;
    NEEDS(group, -1);
    return group->policy;
}

int spe_count_physical_spes(void) { return spe_cpu_info_get(SPE_COUNT_PHYSICAL_SPES, -1); }

/* Changes the state of a thread, and wakes who waits for it. */
static void become(struct thread *thread, int state) {
    pthread_mutex_lock(&lock);
    thread->state = state;
    thread->is_told = 0;
    changes++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *run(void *argument) {
    struct thread *thread = argument;
    unsigned entry = SPE_DEFAULT_ENTRY;
    unsigned flags = thread->flags & SPE_USER_REGS ? SPE_RUN_USER_REGS : 0;
    while (spe_context_run(thread->spe, &entry, flags, thread->argp, thread->envp, &thread->stop) > 0
           && thread->group->use_events) {
        become(thread, STOPPED);
        pthread_mutex_lock(&lock);
        while (thread->state == STOPPED)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    }
    become(thread, ENDED);
    return NULL;
}

speid_t spe_create_thread(spe_gid_t gid, spe_program_handle_t *program, void *argp, void *envp,
                          unsigned long mask, int flags) {
    struct group *group = gid;
    if (!program || mask == 0 || (flags & SPE_USER_REGS && !argp)) {
        errno = EINVAL;
        return NULL;
    }
    if (!group) {
        group = create_group(default_policy, default_priority, default_events);
        if (!group)
            return NULL;
        group->is_own = 1;
    }
    struct thread *thread = calloc(1, sizeof *thread);
    if (group->count == MAX_THREADS_PER_GROUP)
        errno = ENOMEM;
    else if (thread) {
        unsigned events = group->use_events ? SPE_EVENTS_ENABLE : 0;
        thread->spe = spe_context_create((flags & ~SPE_USER_REGS) | events, NULL);
        thread->group = group;
        thread->flags = flags;
        thread->argp = argp;
        thread->envp = envp;
        thread->mask = mask;
        if (thread->spe && spe_program_load(thread->spe, program) == 0
            && pthread_create(&thread->runs_it, NULL, run, thread) == 0) {
            pthread_mutex_lock(&lock);
            thread->next = group->first;
            group->first = thread;
            group->count++;
            pthread_mutex_unlock(&lock);
            return thread;
        }
        if (thread->spe)
            spe_context_destroy(thread->spe);
    }
    free(thread);
    if (group->is_own)
        free(group);
    return NULL;
}

/* The status of a process that ended, or stopped, in the same way. */
static int status_of(const spe_stop_info_t *stop) {
    switch (stop->stop_reason) {
    case SPE_EXIT:
        return (stop->result.spe_exit_code & 0xff) << 8;
    case SPE_STOP_AND_SIGNAL:
        return (stop->result.spe_signal_code & 0xff) << 8 | 0x7f;
    default:
        return SIGSEGV;
    }
}

int spe_wait(speid_t id, int *status, int options) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    if (options & WNOHANG && thread->state != ENDED) {
        if (status)
            *status = 0;
        return 0;
    }
    if (pthread_join(thread->runs_it, NULL) != 0)
        return -1;
    if (status)
        *status = status_of(&thread->stop);
    struct group *group = thread->group;
    pthread_mutex_lock(&lock);
    for (struct thread **link = &group->first; *link; link = &(*link)->next)
        if (*link == thread) {
            *link = thread->next;
            break;
        }
    group->count--;
    pthread_mutex_unlock(&lock);
    spe_context_destroy(thread->spe);
    if (group->is_own)
        free(group);
    free(thread);
    return 0;
}

int spe_kill(speid_t id, int sig) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    if (sig == SIGCONT && thread->state == STOPPED) {
        become(thread, RUNS);
        return 0;
    }
    errno = ENOSYS;
    return -1;
}

spe_gid_t spe_get_group(speid_t id) {
    struct thread *thread = id;
    NEEDS(thread, NULL);
    return thread->group;
}

int spe_get_affinity(speid_t id, unsigned long *mask) {
    struct thread *thread = id;
    NEEDS(thread && mask, -1);
    *mask = thread->mask;
    return 0;
}

int spe_set_affinity(speid_t id, unsigned long mask) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    thread->mask = mask;
    return 0;
}

int spe_get_context(speid_t id, struct spe_ucontext *context) {
    (void)id;
    (void)context;
    errno = ENOSYS;
    return -1;
}

int spe_set_context(speid_t id, struct spe_ucontext *context) { return spe_get_context(id, context); }

int spe_set_app_data(speid_t id, void *data) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    thread->app_data = data;
    return 0;
}

int spe_get_app_data(speid_t id, void **data) {
    struct thread *thread = id;
    NEEDS(thread && data, -1);
    *data = thread->app_data;
    return 0;
}

void *spe_get_ls(speid_t id) {
    struct thread *thread = id;
    NEEDS(thread, NULL);
    return spe_ls_area_get(thread->spe);
}

void *spe_get_ps_area(speid_t id, enum ps_area area) {
    struct thread *thread = id;
    NEEDS(thread, NULL);
    return spe_ps_area_get(thread->spe, area);
}

spe_program_handle_t *spe_open_image(const char *filename) { return spe_image_open(filename); }
int spe_close_image(spe_program_handle_t *program) { return spe_image_close(program); }

/* Fills in an event that has come. */
static int found(struct spe_event *event, struct thread *thread, int what, unsigned long data) {
    event->speid = thread;
    event->revents = what;
    event->data = data;
    return 1;
}

/* An event by a change of state that was not told yet. */
static int find_change(struct spe_event *event, struct group *group) {
    for (struct thread *thread = group->first; thread; thread = thread->next) {
        int what = thread->state == ENDED     ? SPE_EVENT_THREAD_EXIT
                   : thread->state == STOPPED ? SPE_EVENT_STOP
                                              : 0;
        if (!(event->events & what) || thread->is_told)
            continue;
        thread->is_told = 1;
        unsigned data = what == SPE_EVENT_STOP ? (unsigned)thread->stop.result.spe_signal_code
                                               : thread->stop.stop_reason;
        return found(event, thread, what, data);
    }
    return 0;
}

/* Waits up to `timeout` milliseconds for a word in an interrupt mailbox of the group, if `words` is
 * set, and for a change after the first `seen` ones. */
static int find_word(struct spe_event *event, struct group *group, int words, int timeout, unsigned seen) {
    spe_event_handler_ptr_t handler = spe_event_handler_create();
    int result = handler ? 0 : -1;
    for (struct thread *thread = group->first; words && thread && result == 0; thread = thread->next) {
        spe_event_unit_t unit = {SPE_EVENT_OUT_INTR_MBOX, thread->spe, {.ptr = thread}};
        result = spe_event_handler_register(handler, &unit);
    }
    spe_event_unit_t unit;
    if (result == 0)
        result = __cw_event_wait(handler, &unit, 1, timeout, &changes, seen);
    if (handler)
        spe_event_handler_destroy(handler);
    if (result <= 0)
        return result;
    unsigned word;
    result = spe_out_intr_mbox_read(unit.spe, &word, 1, SPE_MBOX_ANY_NONBLOCKING);
    return result == 1 ? found(event, unit.data.ptr, SPE_EVENT_MAILBOX, word) : result;
}

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

int spe_get_event(struct spe_event *event, int count, int timeout) {
    struct group *group = event && count > 0 ? event->gid : NULL;
    NEEDS(group, -1);
    event->speid = NULL;
    event->revents = 0;
    event->data = 0;
    int words = event->events & SPE_EVENT_MAILBOX;
    if (!words && !(event->events & (SPE_EVENT_STOP | SPE_EVENT_THREAD_EXIT))) {
        errno = ENOTSUP;
        return -1;
    }
    long long end = milliseconds() + timeout;
    for (;;) {
        pthread_mutex_lock(&lock);
        int result = find_change(event, group);
        unsigned seen = changes;
        pthread_mutex_unlock(&lock);
        long long left = timeout < 0 ? -1 : end - milliseconds();
        if (timeout >= 0 && left < 0)
            left = 0;
        if (!result)
            result = find_word(event, group, words, left, seen);
        if (result || left == 0)
            return result;
    }
}

int spe_write_in_mbox(speid_t id, unsigned int data) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    return spe_in_mbox_write(thread->spe, &data, 1, SPE_MBOX_ALL_BLOCKING) == 1 ? 0 : -1;
}

int spe_stat_in_mbox(speid_t id) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    return spe_in_mbox_status(thread->spe);
}

unsigned int spe_read_out_mbox(speid_t id) {
    struct thread *thread = id;
    unsigned int word;
    NEEDS(thread, -1);
    return spe_out_mbox_read(thread->spe, &word, 1) == 1 ? word : (unsigned)-1;
}

int spe_stat_out_mbox(speid_t id) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    return spe_out_mbox_status(thread->spe);
}

int spe_stat_out_intr_mbox(speid_t id) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    return spe_out_intr_mbox_status(thread->spe);
}

int spe_write_signal(speid_t id, unsigned int signal_reg, unsigned int data) {
    struct thread *thread = id;
    NEEDS(thread, -1);
    return spe_signal_write(thread->spe, signal_reg, data);
}

#define TRANSFER(name, of_libspe2)                                                                  \
    int name(speid_t id, unsigned int lsa, void *ea, unsigned int size, unsigned short tag,         \
             unsigned char tid, unsigned char rid) {                                                \
        struct thread *thread = id;                                                                 \
        NEEDS(thread, -1);                                                                          \
        return of_libspe2(thread->spe, lsa, ea, size, tag, tid, rid);                               \
    }
TRANSFER(spe_mfc_put, spe_mfcio_put)
TRANSFER(spe_mfc_putb, spe_mfcio_putb)
TRANSFER(spe_mfc_putf, spe_mfcio_putf)
TRANSFER(spe_mfc_get, spe_mfcio_get)
TRANSFER(spe_mfc_getb, spe_mfcio_getb)
TRANSFER(spe_mfc_getf, spe_mfcio_getf)

#define TAG_STATUS(name, behavior)                                                                  \
    int name(speid_t id, unsigned int mask) {                                                       \
        struct thread *thread = id;                                                                 \
        unsigned int status;                                                                        \
        NEEDS(thread, -1);                                                                          \
        return spe_mfcio_tag_status_read(thread->spe, mask, behavior, &status) == 0 ? (int)status   \
                                                                                    : -1;           \
    }
TAG_STATUS(spe_mfc_read_tag_status_all, SPE_TAG_ALL)
TAG_STATUS(spe_mfc_read_tag_status_any, SPE_TAG_ANY)
TAG_STATUS(spe_mfc_read_tag_status_immediate, SPE_TAG_IMMEDIATE)
