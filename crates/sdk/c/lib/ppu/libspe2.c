/* libspe2 over the imports of the machine: module `ppu`. Numbers below 0 are error numbers. */
#include <errno.h>
#include <fcntl.h>
#include <libspe2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "registers.h"

extern int machine_context_create(unsigned flags) __asm__("ppu.context_create");
extern int machine_context_destroy(unsigned context) __asm__("ppu.context_destroy");
extern int machine_program_load(unsigned context, const void *image, unsigned bytes)
    __asm__("ppu.program_load");
extern int machine_context_run(unsigned context, unsigned flags, void *argp, void *envp,
                               unsigned *stop) __asm__("ppu.context_run");
extern int machine_stop_info_read(unsigned context, unsigned *stop) __asm__("ppu.stop_info_read");
extern int machine_mbox_status(unsigned context) __asm__("ppu.mbox_status");
extern int machine_in_mbox_write(unsigned context, unsigned *words, unsigned count,
                                 unsigned behavior) __asm__("ppu.in_mbox_write");
extern int machine_out_mbox_read(unsigned context, unsigned *words, unsigned count)
    __asm__("ppu.out_mbox_read");
extern int machine_out_intr_mbox_read(unsigned context, unsigned *words, unsigned count,
                                      unsigned behavior) __asm__("ppu.out_intr_mbox_read");
extern int machine_signal_write(unsigned context, unsigned reg, unsigned word)
    __asm__("ppu.signal_write");
extern int machine_mfcio(unsigned context, unsigned opcode, unsigned lsa, void *ea, unsigned size,
                         unsigned tag) __asm__("ppu.mfcio");
extern int machine_mfcio_status(unsigned context, unsigned mask, unsigned behavior,
                                unsigned *status) __asm__("ppu.mfcio_status");
extern int machine_wait_events(void *units, unsigned count, int timeout) __asm__("ppu.wait_events");
extern int machine_show_local_store(unsigned context, void *at) __asm__("ppu.show_local_store");
extern int machine_show_problem_state(unsigned context, void *at) __asm__("ppu.show_problem_state");
extern int machine_cpu_info(unsigned what, int node) __asm__("ppu.cpu_info");
extern int machine_program_check(const void *image, unsigned bytes) __asm__("ppu.program_check");

#define LOCAL_STORE_BYTES 0x40000
#define PROBLEM_STATE_BYTES 0x20000
#define WINDOW_ALIGNMENT 0x10000

struct spe_context {
    unsigned number;
    unsigned flags;
    void *local_store;
    char *problem_state;
    struct spe_context *next;
    struct spe_gang_context *gang;
    struct spe_context *neighbor;
    /* The contexts beside it, by its wish or theirs: on a ring there is room for two. */
    int neighbors;
};

/* The contexts of a gang that asked to be near each other. They are not placed by it, but what a
 * Cell refuses is refused. */
struct spe_gang_context {
    unsigned flags;
    int contexts, has_memory, has_run;
};

/* The contexts with a problem-state area, to find one by an address. */
static struct spe_context *mapped;

/* The registers of contexts lie beside each other, so that little other memory is between them
 * (registers.c), and are never memory again. Each that is free has the address of the next one. */
static char *registers;
#define REGISTERS_AT_ONCE 16

static void free_registers(char *at) {
    *(char **)at = registers;
    registers = at;
}

static char *new_registers(void) {
    if (!registers) {
        const unsigned bytes = REGISTERS_AT_ONCE * PROBLEM_STATE_BYTES;
        char *at = aligned_alloc(PROBLEM_STATE_BYTES, bytes);
        if (!at)
            return NULL;
        __cw_has_registers((uintptr_t)at, (uintptr_t)at + bytes);
        for (int area = REGISTERS_AT_ONCE - 1; area >= 0; area--)
            free_registers(at + area * PROBLEM_STATE_BYTES);
    }
    char *at = registers;
    registers = *(char **)at;
    return at;
}

/* Returns a result of the machine as libspe2 returns it: -1 and errno for an error. */
static int checked(int result) {
    if (result < 0) {
        errno = -result;
        return -1;
    }
    return result;
}

#define NEEDS(spe)                                                                                  \
    do {                                                                                            \
        if (!(spe)) {                                                                               \
            errno = ESRCH;                                                                          \
            return -1;                                                                              \
        }                                                                                           \
    } while (0)

spe_context_ptr_t spe_context_create(unsigned int flags, spe_gang_context_ptr_t gang) {
    struct spe_context *spe = calloc(1, sizeof *spe);
    if (!spe)
        return NULL;
    int number = checked(machine_context_create(flags));
    if (number < 0) {
        free(spe);
        return NULL;
    }
    spe->number = number;
    spe->flags = flags;
    spe->gang = gang;
    if (gang)
        gang->contexts++;
    return spe;
}

spe_context_ptr_t spe_context_create_affinity(unsigned int flags, spe_context_ptr_t neighbor,
                                              spe_gang_context_ptr_t gang) {
    int error = 0;
    if (neighbor && neighbor->gang != gang)
        error = ESRCH;
    else if (gang && gang->has_run)
        error = EBUSY;
    else if (neighbor && neighbor->neighbors == 2)
        error = EEXIST;
    else if (gang
             && ((gang->has_memory && flags & SPE_AFFINITY_MEMORY)
                 || gang->contexts >= spe_cpu_info_get(SPE_COUNT_USABLE_SPES, 0)))
        error = EEXIST;
    if (error) {
        errno = error;
        return NULL;
    }
    struct spe_context *spe = spe_context_create(flags, gang);
    if (!spe)
        return NULL;
    if (gang && flags & SPE_AFFINITY_MEMORY)
        gang->has_memory = 1;
    if (neighbor) {
        spe->neighbor = neighbor;
        spe->neighbors++;
        neighbor->neighbors++;
    }
    return spe;
}

int spe_context_destroy(spe_context_ptr_t spe) {
    NEEDS(spe);
    if (checked(machine_context_destroy(spe->number)) < 0)
        return -1;
    for (struct spe_context **link = &mapped; *link; link = &(*link)->next)
        if (*link == spe) {
            *link = spe->next;
            break;
        }
    if (spe->gang)
        spe->gang->contexts--;
    if (spe->neighbor)
        spe->neighbor->neighbors--;
    free(spe->local_store);
    if (spe->problem_state)
        free_registers(spe->problem_state);
    free(spe);
    return 0;
}

spe_gang_context_ptr_t spe_gang_context_create(unsigned int flags) {
    struct spe_gang_context *gang = calloc(1, sizeof *gang);
    if (gang)
        gang->flags = flags;
    return gang;
}

int spe_gang_context_destroy(spe_gang_context_ptr_t gang) {
    if (!gang) {
        errno = ESRCH;
        return -1;
    }
    if (gang->contexts) {
        errno = EAGAIN;
        return -1;
    }
    free(gang);
    return 0;
}

int __cw_is_executable(int file);

spe_program_handle_t *spe_image_open(const char *filename) {
    struct stat about;
    spe_program_handle_t *program = NULL;
    int file = open(filename, O_RDONLY);
    if (file < 0) {
        fprintf(stderr,
                "cellworks: spe_image_open cannot open %s: %s; a program sees the folders that it is "
                "given, for instance by --dir .\n",
                filename, strerror(errno));
        return NULL;
    }
    if (fstat(file, &about) == 0)
        program = calloc(1, sizeof *program + about.st_size);
    if (program) {
        char *image = (char *)(program + 1);
        size_t bytes = 0;
        while (bytes < (size_t)about.st_size) {
            ssize_t more = read(file, image + bytes, about.st_size - bytes);
            if (more <= 0)
                break;
            bytes += more;
        }
        program->handle_size = sizeof *program;
        program->elf_image = image;
        program->image_bytes = bytes;
    }
    int is_executable = __cw_is_executable(file);
    close(file);
    if (program && checked(machine_program_check(program->elf_image, program->image_bytes)) < 0) {
        free(program);
        return NULL;
    }
    if (program && !is_executable) {
        fprintf(stderr,
                "cellworks: spe_image_open refuses %s, as libspe2 does: it is not executable; type "
                "chmod +x %s\n",
                filename, filename);
        free(program);
        errno = EACCES;
        return NULL;
    }
    return program;
}

int spe_image_close(spe_program_handle_t *program) {
    if (!program) {
        errno = EINVAL;
        return -1;
    }
    free(program);
    return 0;
}

int spe_program_load(spe_context_ptr_t spe, spe_program_handle_t *program) {
    NEEDS(spe);
    if (!program) {
        errno = EINVAL;
        return -1;
    }
    return checked(machine_program_load(spe->number, program->elf_image, program->image_bytes));
}

/* What a stop code means for the hardware's status register: the code, and "stopped by a stop". */
static void fill(spe_stop_info_t *info, const unsigned stop[2]) {
    memset(info, 0, sizeof *info);
    info->stop_reason = stop[0];
    info->result.spe_exit_code = stop[1];
    switch (stop[0]) {
    case SPE_EXIT:
        info->spu_status = (0x2000 | stop[1]) << 16 | SPE_SPU_STOPPED_BY_STOP;
        break;
    case SPE_STOP_AND_SIGNAL:
        info->spu_status = stop[1] << 16 | SPE_SPU_STOPPED_BY_STOP;
        break;
    case SPE_RUNTIME_ERROR:
        info->spu_status = stop[1];
        break;
    }
}

#define CALLBACKS 256
/* The functions of the C library that a program of an SPU calls by these numbers on a Cell. Those
 * of the first two it calls in another way here. */
#define RESERVED_CALLBACKS 3
static int library(void *local_store, unsigned arguments) {
    (void)local_store;
    (void)arguments;
    return 1;
}

/* Memory for pointers of `__ea`: `data` has the address of a word with the number of the function
 * and the address of its arguments, each the first of four words. */
static int memory(void *local_store, unsigned data) {
    unsigned word = *(unsigned *)((char *)local_store + data);
    unsigned *words = (unsigned *)((char *)local_store + (word & 0x3ffff));
    void *result = NULL;
    errno = 0;
    switch (word >> 24) {
    case 1:
        result = calloc(words[0], words[4]);
        break;
    case 2:
        free((void *)words[0]);
        break;
    case 3:
        result = malloc(words[0]);
        break;
    case 4:
        result = realloc((void *)words[0], words[4]);
        break;
    default:
        return 1;
    }
    words[3] = errno;
    words[0] = (unsigned)result;
    return 0;
}

static void *callbacks[CALLBACKS] = {(void *)library, (void *)library, (void *)memory};

int spe_callback_handler_register(void *handler, unsigned int callnum, unsigned int mode) {
    if (callnum >= CALLBACKS || !handler
        || (mode != SPE_CALLBACK_NEW && mode != SPE_CALLBACK_UPDATE)) {
        errno = EINVAL;
        return -1;
    }
    if (mode == SPE_CALLBACK_NEW && callbacks[callnum]) {
        errno = EACCES;
        return -1;
    }
    if (mode == SPE_CALLBACK_UPDATE && !callbacks[callnum]) {
        errno = ESRCH;
        return -1;
    }
    callbacks[callnum] = handler;
    return 0;
}

int spe_callback_handler_deregister(unsigned int callnum) {
    if (callnum >= CALLBACKS) {
        errno = EINVAL;
        return -1;
    }
    if (callnum < RESERVED_CALLBACKS) {
        errno = EACCES;
        return -1;
    }
    if (!callbacks[callnum]) {
        errno = ESRCH;
        return -1;
    }
    callbacks[callnum] = NULL;
    return 0;
}

void *spe_callback_handler_query(unsigned int callnum) {
    if (callnum >= CALLBACKS) {
        errno = EINVAL;
        return NULL;
    }
    if (!callbacks[callnum])
        errno = ESRCH;
    return callbacks[callnum];
}

/* What an SPE prints goes through the PPU's standard output on a Cell. So what the PPU has printed
 * comes first, also a line without an end, if it is from before the SPE was told something. */
static void print_first(void) {
    if (__fpending(stdout))
        fflush(stdout);
}

/* Where a program goes on after a stop. Here the machine knows the place, so this number only tells
 * it apart from the start. */
#define AFTER_THE_STOP 0x80

/* Tells the machine that a stopped program begins again, with its variables as they are. */
#define FROM_THE_START 0x10000

int spe_context_run(spe_context_ptr_t spe, unsigned int *entry, unsigned int runflags, void *argp,
                    void *envp, spe_stop_info_t *stopinfo) {
    NEEDS(spe);
    unsigned from_the_start = !entry || *entry == SPE_DEFAULT_ENTRY ? FROM_THE_START : 0;
    if (spe->gang)
        spe->gang->has_run = 1;
    for (;;) {
        unsigned stop[2] = {0, 0};
        print_first();
        int result = machine_context_run(spe->number, runflags | from_the_start, argp, envp, stop);
        /* Without a stop the program did not run. */
        if (stop[0] == 0)
            return checked(result);
        from_the_start = 0;
        if (entry)
            *entry = AFTER_THE_STOP;
        unsigned code = stop[1];
        if (stop[0] == SPE_STOP_AND_SIGNAL && code >= 0x2100 && code < 0x2200
            && !(runflags & SPE_NO_CALLBACKS)) {
            void *handler = callbacks[code & 0xff];
            char *local_store = spe_ls_area_get(spe);
            /* It gets the address of the word after the stop instruction, which __send_to_ppe
               writes to address 0. */
            int error = 1;
            if (handler && local_store) {
                error = (int)call(handler, local_store, NULL);
                if (error == 0)
                    continue;
            }
            stop[0] = SPE_CALLBACK_ERROR;
            stop[1] = error;
            result = -1;
        }
        if (stopinfo)
            fill(stopinfo, stop);
        if (result < 0)
            errno = EFAULT;
        return result;
    }
}

int spe_stop_info_read(spe_context_ptr_t spe, spe_stop_info_t *stopinfo) {
    unsigned stop[2];
    NEEDS(spe);
    if (checked(machine_stop_info_read(spe->number, stop)) < 0)
        return -1;
    fill(stopinfo, stop);
    return 0;
}

struct spe_event_handler {
    unsigned count, room;
    spe_event_unit_t *units;
};

/* A unit as the machine reads it. If the context is A_WORD, the wait also ends when the word at the
 * address `events` is no longer `found`. */
struct waited {
    unsigned context, events, found;
};
#define A_WORD (~0u)

spe_event_handler_ptr_t spe_event_handler_create(void) {
    return calloc(1, sizeof(struct spe_event_handler));
}

int spe_event_handler_destroy(spe_event_handler_ptr_t handler) {
    NEEDS(handler);
    free(handler->units);
    free(handler);
    return 0;
}

/* Returns 0 for an event that a handler may have. */
static int refused(const spe_event_unit_t *event) {
    if (!event || !event->spe || !event->events)
        return EINVAL;
    if (event->events & ~SPE_EVENT_ALL_EVENTS || !(event->spe->flags & SPE_EVENTS_ENABLE))
        return ENOTSUP;
    return 0;
}

int spe_event_handler_register(spe_event_handler_ptr_t handler, spe_event_unit_t *event) {
    NEEDS(handler);
    int error = refused(event);
    if (error) {
        errno = error;
        return -1;
    }
    for (unsigned i = 0; i < handler->count; i++)
        if (handler->units[i].spe == event->spe) {
            handler->units[i].events |= event->events;
            handler->units[i].data = event->data;
            return 0;
        }
    if (handler->count == handler->room) {
        unsigned room = handler->room * 2 + 8;
        spe_event_unit_t *units = realloc(handler->units, room * sizeof *units);
        if (!units)
            return -1;
        handler->units = units;
        handler->room = room;
    }
    handler->units[handler->count++] = *event;
    return 0;
}

int spe_event_handler_deregister(spe_event_handler_ptr_t handler, spe_event_unit_t *event) {
    NEEDS(handler);
    int error = refused(event);
    for (unsigned i = 0; !error && i < handler->count; i++)
        if (handler->units[i].spe == event->spe) {
            handler->units[i].events &= ~event->events;
            if (!handler->units[i].events)
                handler->units[i] = handler->units[--handler->count];
            return 0;
        }
    errno = error ? error : EINVAL;
    return -1;
}

/* As spe_event_wait. The wait also ends when a word is no longer `old`, and then there may be no
 * event. */
int __cw_event_wait(spe_event_handler_ptr_t handler, spe_event_unit_t *events, int max_events,
                    int timeout, const volatile unsigned *word, unsigned old) {
    NEEDS(handler);
    if (!events || max_events <= 0) {
        errno = EINVAL;
        return -1;
    }
    struct waited *waited = calloc(handler->count + 1, sizeof *waited);
    if (!waited)
        return -1;
    unsigned count = handler->count;
    for (unsigned i = 0; i < count; i++) {
        waited[i].context = handler->units[i].spe->number;
        waited[i].events = handler->units[i].events;
    }
    waited[count] = (struct waited){A_WORD, (unsigned)word, old};
    int result = checked(machine_wait_events(waited, count + (word != NULL), timeout));
    int filled = 0;
    /* Another thread may have deregistered units in the meantime. */
    for (unsigned i = 0; result > 0 && i < count && i < handler->count && filled < max_events; i++)
        if (waited[i].found) {
            events[filled] = handler->units[i];
            events[filled++].events = waited[i].found;
        }
    free(waited);
    return result < 0 ? -1 : filled;
}

int spe_event_wait(spe_event_handler_ptr_t handler, spe_event_unit_t *events, int max_events,
                   int timeout) {
    return __cw_event_wait(handler, events, max_events, timeout, NULL, 0);
}

#define MFCIO(name, opcode)                                                                         \
    int name(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,                  \
             unsigned int tag, unsigned int tid, unsigned int rid) {                                \
        NEEDS(spe);                                                                                 \
        (void)tid;                                                                                  \
        (void)rid;                                                                                  \
        return checked(machine_mfcio(spe->number, opcode, lsa, ea, size, tag));                     \
    }

MFCIO(spe_mfcio_put, 0x20)
MFCIO(spe_mfcio_putb, 0x21)
MFCIO(spe_mfcio_putf, 0x22)
MFCIO(spe_mfcio_get, 0x40)
MFCIO(spe_mfcio_getb, 0x41)
MFCIO(spe_mfcio_getf, 0x42)

int spe_mfcio_tag_status_read(spe_context_ptr_t spe, unsigned int mask, unsigned int behavior,
                              unsigned int *tag_status) {
    NEEDS(spe);
    return checked(machine_mfcio_status(spe->number, mask, behavior, tag_status));
}

int spe_out_mbox_read(spe_context_ptr_t spe, unsigned int *mbox_data, int count) {
    NEEDS(spe);
    if (count < 1 || !mbox_data) {
        errno = EINVAL;
        return -1;
    }
    return checked(machine_out_mbox_read(spe->number, mbox_data, count));
}

int spe_in_mbox_write(spe_context_ptr_t spe, unsigned int *mbox_data, int count,
                      unsigned int behavior) {
    NEEDS(spe);
    if (count < 1 || !mbox_data) {
        errno = EINVAL;
        return -1;
    }
    int written = 0;
    print_first();
    do {
        int result = checked(machine_in_mbox_write(spe->number, mbox_data + written,
                                                   count - written, behavior));
        if (result < 0)
            return -1;
        written += result;
    } while (behavior == SPE_MBOX_ALL_BLOCKING && written < count);
    return written;
}

int spe_out_intr_mbox_read(spe_context_ptr_t spe, unsigned int *mbox_data, int count,
                           unsigned int behavior) {
    NEEDS(spe);
    if (count < 1 || !mbox_data) {
        errno = EINVAL;
        return -1;
    }
    int read = 0;
    do {
        int result = checked(machine_out_intr_mbox_read(spe->number, mbox_data + read,
                                                        count - read, behavior));
        if (result < 0)
            return -1;
        read += result;
    } while (behavior == SPE_MBOX_ALL_BLOCKING && read < count);
    return read;
}

/* The mailbox status register: words in the outbound mailbox, room in the inbound mailbox, words in
   the outbound interrupt mailbox, in a byte each from the lowest. */
static int status(spe_context_ptr_t spe, unsigned shift) {
    NEEDS(spe);
    int status = checked(machine_mbox_status(spe->number));
    return status < 0 ? -1 : status >> shift & 0xff;
}

int spe_out_mbox_status(spe_context_ptr_t spe) { return status(spe, 0); }
int spe_in_mbox_status(spe_context_ptr_t spe) { return status(spe, 8); }
int spe_out_intr_mbox_status(spe_context_ptr_t spe) { return status(spe, 16); }

int spe_signal_write(spe_context_ptr_t spe, unsigned int signal_reg, unsigned int data) {
    NEEDS(spe);
    print_first();
    return checked(machine_signal_write(spe->number, signal_reg, data));
}

/* Transfers are complete here when their tag group is. */
int spe_mssync_start(spe_context_ptr_t spe) {
    NEEDS(spe);
    return 0;
}

int spe_mssync_status(spe_context_ptr_t spe) {
    NEEDS(spe);
    return 0;
}

void *spe_ls_area_get(spe_context_ptr_t spe) {
    if (!spe) {
        errno = ESRCH;
        return NULL;
    }
    if (!spe->local_store) {
        void *at = aligned_alloc(WINDOW_ALIGNMENT, LOCAL_STORE_BYTES);
        if (at && machine_show_local_store(spe->number, at))
            spe->local_store = at;
        else
            free(at);
    }
    return spe->local_store;
}

int spe_ls_size_get(spe_context_ptr_t spe) {
    NEEDS(spe);
    return LOCAL_STORE_BYTES;
}

void *spe_ps_area_get(spe_context_ptr_t spe, enum ps_area area) {
    static const unsigned offsets[] = {0, 0x3000, 0x4000, 0x14000, 0x1c000};
    if (!spe || (unsigned)area >= sizeof offsets / sizeof *offsets) {
        errno = spe ? EINVAL : ESRCH;
        return NULL;
    }
    if (!(spe->flags & SPE_MAP_PS)) {
        errno = EACCES;
        return NULL;
    }
    if (!spe->problem_state) {
        char *at = new_registers();
        if (!at)
            return NULL;
        if (!machine_show_problem_state(spe->number, at))
            abort();
        spe->problem_state = at;
        spe->next = mapped;
        mapped = spe;
    }
    return spe->problem_state + offsets[area];
}

static spe_context_ptr_t of_area(void *area) {
    for (struct spe_context *spe = mapped; spe; spe = spe->next)
        if ((uintptr_t)area - (uintptr_t)spe->problem_state < PROBLEM_STATE_BYTES)
            return spe;
    fprintf(stderr, "cellworks: %p is no area of spe_ps_area_get\n", area);
    abort();
}

unsigned int _spe_out_mbox_read(void *area) {
    unsigned word = 0;
    spe_out_mbox_read(of_area(area), &word, 1);
    return word;
}

void _spe_in_mbox_write(void *area, unsigned int word) {
    spe_in_mbox_write(of_area(area), &word, 1, SPE_MBOX_ANY_NONBLOCKING);
}

unsigned int _spe_out_mbox_status(void *area) { return spe_out_mbox_status(of_area(area)); }
unsigned int _spe_in_mbox_status(void *area) { return spe_in_mbox_status(of_area(area)); }

void _spe_sig_notify_1_write(void *area, unsigned int data) {
    spe_signal_write(of_area(area), SPE_SIG_NOTIFY_REG_1, data);
}

void _spe_sig_notify_2_write(void *area, unsigned int data) {
    spe_signal_write(of_area(area), SPE_SIG_NOTIFY_REG_2, data);
}

void _spe_signal_write(void *area, unsigned int data) {
    unsigned second = ((uintptr_t)area & (PROBLEM_STATE_BYTES - 1)) >= 0x1c000;
    spe_signal_write(of_area(area), second ? SPE_SIG_NOTIFY_REG_2 : SPE_SIG_NOTIFY_REG_1, data);
}

int spe_cpu_info_get(int info_requested, int cpu_node) {
    return checked(machine_cpu_info(info_requested, cpu_node));
}
