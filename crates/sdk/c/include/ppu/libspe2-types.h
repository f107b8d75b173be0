/* The types and constants of libspe2. */
#ifndef _LIBSPE2_TYPES_H
#define _LIBSPE2_TYPES_H

/* An SPE program inside of a PPU program, or one that spe_image_open has read. */
typedef struct spe_program_handle {
    unsigned int handle_size;
    void *elf_image;
    void *toe_shadow;
    unsigned int image_bytes;
} spe_program_handle_t;

typedef struct spe_context *spe_context_ptr_t;
typedef struct spe_gang_context *spe_gang_context_ptr_t;
typedef struct spe_event_handler *spe_event_handler_ptr_t;
typedef int spe_event_handler_t;

/* Why a program stopped. */
typedef struct spe_stop_info {
    unsigned int stop_reason;
    union {
        int spe_exit_code;
        int spe_signal_code;
        int spe_runtime_error;
        int spe_runtime_exception;
        int spe_runtime_fatal;
        int spe_callback_error;
        int spe_isolation_error;
        void *__reserved_ptr;
        unsigned long long __reserved_u64;
    } result;
    int spu_status;
} spe_stop_info_t;

/* What a program attaches to an event. */
typedef union spe_event_data {
    void *ptr;
    unsigned int u32;
    unsigned long long u64;
} spe_event_data_t;

typedef struct spe_event_unit {
    unsigned int events;
    spe_context_ptr_t spe;
    spe_event_data_t data;
} spe_event_unit_t;

/* The areas of spe_ps_area_get. */
enum ps_area {
    SPE_MSSYNC_AREA,
    SPE_MFC_COMMAND_AREA,
    SPE_CONTROL_AREA,
    SPE_SIG_NOTIFY_1_AREA,
    SPE_SIG_NOTIFY_2_AREA
};

/* Flags of spe_context_create. */
#define SPE_CFG_SIGNOTIFY1_OR 0x00000010
#define SPE_CFG_SIGNOTIFY2_OR 0x00000020
#define SPE_MAP_PS 0x00000040
#define SPE_ISOLATE 0x00000080
#define SPE_ISOLATE_EMULATE 0x00000100
#define SPE_EVENTS_ENABLE 0x00001000
#define SPE_AFFINITY_MEMORY 0x00002000
#define SPE_NOSCHED 0x00004000

/* Symbolic values of spe_context_run. */
#define SPE_DEFAULT_ENTRY 0xffffffffu
#define SPE_RUN_USER_REGS 0x00000001
#define SPE_NO_CALLBACKS 0x00000002

/* Stop reasons. */
#define SPE_EXIT 1
#define SPE_STOP_AND_SIGNAL 2
#define SPE_RUNTIME_ERROR 3
#define SPE_RUNTIME_EXCEPTION 4
#define SPE_RUNTIME_FATAL 5
#define SPE_CALLBACK_ERROR 6
#define SPE_ISOLATION_ERROR 7

/* Runtime errors. */
#define SPE_SPU_STOPPED_BY_STOP 0x02
#define SPE_SPU_HALT 0x04
#define SPE_SPU_WAITING_ON_CHANNEL 0x08
#define SPE_SPU_SINGLE_STEP 0x10
#define SPE_SPU_INVALID_INSTR 0x20
#define SPE_SPU_INVALID_CHANNEL 0x40

/* Runtime exceptions. */
#define SPE_DMA_ALIGNMENT 0x0008
#define SPE_DMA_SEGMENTATION 0x0020
#define SPE_DMA_STORAGE 0x0040
#define SPE_INVALID_DMA 0x0800

/* Behaviors of mailboxes. */
#define SPE_MBOX_ALL_BLOCKING 1
#define SPE_MBOX_ANY_BLOCKING 2
#define SPE_MBOX_ANY_NONBLOCKING 3

/* Behaviors of spe_mfcio_tag_status_read. */
#define SPE_TAG_ALL 1
#define SPE_TAG_ANY 2
#define SPE_TAG_IMMEDIATE 3

/* Signal registers. */
#define SPE_SIG_NOTIFY_REG_1 0x0001
#define SPE_SIG_NOTIFY_REG_2 0x0002

/* Events. */
#define SPE_EVENT_OUT_INTR_MBOX 0x00000001
#define SPE_EVENT_IN_MBOX 0x00000002
#define SPE_EVENT_TAG_GROUP 0x00000004
#define SPE_EVENT_SPE_STOPPED 0x00000008
#define SPE_EVENT_ALL_EVENTS                                                                        \
    (SPE_EVENT_OUT_INTR_MBOX | SPE_EVENT_IN_MBOX | SPE_EVENT_TAG_GROUP | SPE_EVENT_SPE_STOPPED)

/* Modes of spe_callback_handler_register. */
#define SPE_CALLBACK_NEW 1
#define SPE_CALLBACK_UPDATE 2

/* What spe_cpu_info_get counts. */
#define SPE_COUNT_PHYSICAL_CPU_NODES 1
#define SPE_COUNT_PHYSICAL_SPES 2
#define SPE_COUNT_USABLE_SPES 3
#define SPE_CPU_TYPE 4

/* What it says of SPE_CPU_TYPE: a Cell, or a PowerXCell with its doubles. */
#define SPE_CPU_IS_CELLBE 1
#define SPE_CPU_IS_CELLEDP 2

/* The signal of an old interface. Nothing sends it. */
#define SIGSPE SIGURG

#endif
