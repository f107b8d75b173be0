/* The SPE runtime library, version 2: contexts of SPE programs, as a PPU program uses them.
 *
 * Source: SPE Runtime Management Library 2.2 (IBM, 2007). What differs here is in
 * docs/cell-c.md. */
#ifndef _LIBSPE2_H
#define _LIBSPE2_H

#include <cbea_map.h>
#include <errno.h>
#include <libspe2-types.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Contexts. */
spe_context_ptr_t spe_context_create(unsigned int flags, spe_gang_context_ptr_t gang);
spe_context_ptr_t spe_context_create_affinity(unsigned int flags, spe_context_ptr_t neighbor,
                                              spe_gang_context_ptr_t gang);
int spe_context_destroy(spe_context_ptr_t spe);
spe_gang_context_ptr_t spe_gang_context_create(unsigned int flags);
int spe_gang_context_destroy(spe_gang_context_ptr_t gang);

/* Programs. */
spe_program_handle_t *spe_image_open(const char *filename);
int spe_image_close(spe_program_handle_t *program);
int spe_program_load(spe_context_ptr_t spe, spe_program_handle_t *program);
int spe_context_run(spe_context_ptr_t spe, unsigned int *entry, unsigned int runflags, void *argp,
                    void *envp, spe_stop_info_t *stopinfo);
int spe_stop_info_read(spe_context_ptr_t spe, spe_stop_info_t *stopinfo);

/* Events. */
spe_event_handler_ptr_t spe_event_handler_create(void);
int spe_event_handler_destroy(spe_event_handler_ptr_t handler);
int spe_event_handler_register(spe_event_handler_ptr_t handler, spe_event_unit_t *event);
int spe_event_handler_deregister(spe_event_handler_ptr_t handler, spe_event_unit_t *event);
int spe_event_wait(spe_event_handler_ptr_t handler, spe_event_unit_t *events, int max_events,
                   int timeout);

/* The proxy queue of an MFC. */
int spe_mfcio_put(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                  unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_putb(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                   unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_putf(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                   unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_get(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                  unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_getb(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                   unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_getf(spe_context_ptr_t spe, unsigned int lsa, void *ea, unsigned int size,
                   unsigned int tag, unsigned int tid, unsigned int rid);
int spe_mfcio_tag_status_read(spe_context_ptr_t spe, unsigned int mask, unsigned int behavior,
                              unsigned int *tag_status);

/* Mailboxes and signals. */
int spe_out_mbox_read(spe_context_ptr_t spe, unsigned int *mbox_data, int count);
int spe_out_mbox_status(spe_context_ptr_t spe);
int spe_in_mbox_write(spe_context_ptr_t spe, unsigned int *mbox_data, int count,
                      unsigned int behavior);
int spe_in_mbox_status(spe_context_ptr_t spe);
int spe_out_intr_mbox_read(spe_context_ptr_t spe, unsigned int *mbox_data, int count,
                           unsigned int behavior);
int spe_out_intr_mbox_status(spe_context_ptr_t spe);
int spe_signal_write(spe_context_ptr_t spe, unsigned int signal_reg, unsigned int data);
int spe_mssync_start(spe_context_ptr_t spe);
int spe_mssync_status(spe_context_ptr_t spe);

/* The local store and the registers of an SPE, as memory. */
void *spe_ls_area_get(spe_context_ptr_t spe);
int spe_ls_size_get(spe_context_ptr_t spe);
void *spe_ps_area_get(spe_context_ptr_t spe, enum ps_area area);

/* Functions that an SPE program calls on the PPE. */
int spe_callback_handler_register(void *handler, unsigned int callnum, unsigned int mode);
int spe_callback_handler_deregister(unsigned int callnum);
void *spe_callback_handler_query(unsigned int callnum);

/* The machine. */
int spe_cpu_info_get(int info_requested, int cpu_node);

#ifdef __cplusplus
}
#endif

#endif
