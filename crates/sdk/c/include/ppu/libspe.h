/* The SPE runtime library, version 1: threads of SPE programs. It is a layer over libspe2.
 *
 * Source: SPE Runtime Management Library 1.2 (IBM, 2006). What differs here: spe_kill does not end
 * or stop a program that runs; spe_get_context and spe_set_context do nothing; priorities, policies
 * and affinities have no effect; and of the events, those of tag groups and of single errors do not
 * come. All of these say so by errno ENOSYS or ENOTSUP, but for the settings without effect. */
#ifndef _LIBSPE_H
#define _LIBSPE_H

#include <libspe2.h>
#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *speid_t;
typedef void *spe_gid_t;

/* A flag of spe_create_thread: `argp` is the address of three quadwords for registers 3 to 5. */
#define SPE_USER_REGS 0x0002
#define SPE_DEF_GRP 0x00000000
#define MAX_THREADS_PER_GROUP 16

#define SPE_EVENT_MAILBOX 0x0001
#define SPE_EVENT_STOP 0x0002
#define SPE_EVENT_DMA_ALIGNMENT 0x0008
#define SPE_EVENT_SPE_ERROR 0x0010
#define SPE_EVENT_SPE_DATA_SEGMENT 0x0020
#define SPE_EVENT_SPE_DATA_STORAGE 0x0040
#define SPE_EVENT_SPE_TRAPPED 0x0080
#define SPE_EVENT_THREAD_EXIT 0x0100
#define SPE_EVENT_ERR 0x0200
#define SPE_EVENT_NVAL 0x0400
#define SPE_EVENT_INVALID_DMA_CMD 0x0800

struct spe_event {
    spe_gid_t gid;
    int events;
    int revents;
    speid_t speid;
    unsigned long data;
};

struct spe_ucontext {
    unsigned int gprs[128][4];
    unsigned int fpcr[4];
    unsigned int decr;
    unsigned int decr_status;
    unsigned int npc;
    unsigned int tag_mask;
    unsigned int event_mask;
    unsigned int srr0;
    unsigned int _reserved[2];
    void *ls;
};

/* Groups. A null pointer stands for a group of its own, without events. */
spe_gid_t spe_create_group(int policy, int priority, int use_events);
int spe_destroy_group(spe_gid_t group);
int spe_group_max(spe_gid_t group);
int spe_group_defaults(int policy, int priority, int use_events);
int spe_get_threads(spe_gid_t group, speid_t *threads);
int spe_get_priority(spe_gid_t group);
int spe_set_priority(spe_gid_t group, int priority);
int spe_get_policy(spe_gid_t group);
int spe_count_physical_spes(void);

/* Threads. `status` of spe_wait is read with WIFEXITED and the like. */
speid_t spe_create_thread(spe_gid_t group, spe_program_handle_t *program, void *argp, void *envp,
                          unsigned long mask, int flags);
int spe_wait(speid_t thread, int *status, int options);
int spe_kill(speid_t thread, int sig);
spe_gid_t spe_get_group(speid_t thread);
int spe_get_affinity(speid_t thread, unsigned long *mask);
int spe_set_affinity(speid_t thread, unsigned long mask);
int spe_get_context(speid_t thread, struct spe_ucontext *context);
int spe_set_context(speid_t thread, struct spe_ucontext *context);
int spe_set_app_data(speid_t thread, void *data);
int spe_get_app_data(speid_t thread, void **data);
void *spe_get_ls(speid_t thread);
void *spe_get_ps_area(speid_t thread, enum ps_area area);

/* Programs in files. */
spe_program_handle_t *spe_open_image(const char *filename);
int spe_close_image(spe_program_handle_t *program);

/* One event of the group in `events`: the number of events, 0 after `timeout` milliseconds. */
int spe_get_event(struct spe_event *events, int count, int timeout);

/* Mailboxes and signals. */
int spe_write_in_mbox(speid_t thread, unsigned int data);
int spe_stat_in_mbox(speid_t thread);
unsigned int spe_read_out_mbox(speid_t thread);
int spe_stat_out_mbox(speid_t thread);
int spe_stat_out_intr_mbox(speid_t thread);
int spe_write_signal(speid_t thread, unsigned int signal_reg, unsigned int data);

/* The proxy queue of an MFC. */
#define __CW_SPE_MFC(name)                                                                          \
    int name(speid_t thread, unsigned int lsa, void *ea, unsigned int size, unsigned short tag,     \
             unsigned char tid, unsigned char rid);
__CW_SPE_MFC(spe_mfc_put)
__CW_SPE_MFC(spe_mfc_putb)
__CW_SPE_MFC(spe_mfc_putf)
__CW_SPE_MFC(spe_mfc_get)
__CW_SPE_MFC(spe_mfc_getb)
__CW_SPE_MFC(spe_mfc_getf)
#undef __CW_SPE_MFC
int spe_mfc_read_tag_status_all(speid_t thread, unsigned int mask);
int spe_mfc_read_tag_status_any(speid_t thread, unsigned int mask);
int spe_mfc_read_tag_status_immediate(speid_t thread, unsigned int mask);

#ifdef __cplusplus
}
#endif

#endif
