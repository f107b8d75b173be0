/* What libspe2 refuses, and the error number that it says. */
#include <errno.h>
#include <fcntl.h>
#include <libspe2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *what, int failed, int error) {
    if (!failed || errno != error)
        printf("%s: %s, %s\n", what, failed ? "failed" : "succeeded", strerror(errno));
    errno = 0;
}

static int handler(void *local_store, unsigned int argument) { return local_store == NULL && argument; }

int main(void) {
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    unsigned int word = 0;
    spe_stop_info_t stop;
    int files = 0, nodes = spe_cpu_info_get(SPE_COUNT_PHYSICAL_CPU_NODES, -1), spes = 0;
    for (int node = 0; node < nodes; node++)
        spes += spe_cpu_info_get(SPE_COUNT_USABLE_SPES, node);
    printf("SPEs of all nodes: %d\n", spes == spe_cpu_info_get(SPE_COUNT_PHYSICAL_SPES, -1));
    expect("nodes of a node", spe_cpu_info_get(SPE_COUNT_PHYSICAL_CPU_NODES, 0) < 0, EINVAL);
    expect("a node too many", spe_cpu_info_get(SPE_COUNT_USABLE_SPES, nodes) < 0, EINVAL);
    expect("nothing known", spe_cpu_info_get(99, -1) < 0, EINVAL);
    expect("registers without SPE_MAP_PS", !spe_ps_area_get(spe, SPE_CONTROL_AREA), EACCES);
    expect("registers of none", !spe_ps_area_get(NULL, SPE_CONTROL_AREA), ESRCH);
    expect("no handler", spe_callback_handler_register(NULL, 20, SPE_CALLBACK_NEW) < 0, EINVAL);
    expect("no mode", spe_callback_handler_register((void *)handler, 20, 9) < 0, EINVAL);
    expect("not there", spe_callback_handler_register((void *)handler, 20, SPE_CALLBACK_UPDATE) < 0, ESRCH);
    expect("the library's", spe_callback_handler_register((void *)handler, 0, SPE_CALLBACK_NEW) < 0, EACCES);
    expect("the library's", spe_callback_handler_deregister(1) < 0, EACCES);
    expect("no program", spe_context_run(spe, &word, 0, NULL, NULL, NULL) < 0, EINVAL);
    expect("none to run", spe_context_run(NULL, &word, 0, NULL, NULL, NULL) < 0, ESRCH);
    expect("not there", !spe_image_open("missing"), ENOENT);
    expect("no image", !spe_image_open("refused.c"), EINVAL);
    expect("another image", !spe_image_open("refused"), EINVAL);
    expect("no signal", spe_signal_write(spe, 3, 0) < 0, EINVAL);
    expect("no words", spe_in_mbox_write(spe, &word, 0, SPE_MBOX_ALL_BLOCKING) < 0, EINVAL);
    expect("no way", spe_in_mbox_write(spe, &word, 1, 9) < 0, EINVAL);
    expect("no place", spe_out_mbox_read(spe, NULL, 1) < 0, EINVAL);
    expect("no events", spe_stop_info_read(spe, &stop) < 0, ENOTSUP);
    spe_context_ptr_t eventful = spe_context_create(SPE_EVENTS_ENABLE, NULL);
    expect("no stop", spe_stop_info_read(eventful, &stop) < 0, EAGAIN);
    spe_context_destroy(eventful);
    spe_event_handler_ptr_t events = spe_event_handler_create();
    spe_event_unit_t event = {.events = SPE_EVENT_IN_MBOX, .spe = spe};
    expect("no events", spe_event_handler_register(events, &event) < 0, ENOTSUP);
    expect("not there", spe_event_handler_deregister(events, &event) < 0, ENOTSUP);
    event.spe = NULL;
    expect("no context", spe_event_handler_register(events, &event) < 0, EINVAL);
    spe_event_handler_destroy(events);
    spe_gang_context_ptr_t gang = spe_gang_context_create(0);
    spe_context_ptr_t near[3];
    near[0] = spe_context_create_affinity(SPE_AFFINITY_MEMORY, NULL, gang);
    expect("two at the memory", !spe_context_create_affinity(SPE_AFFINITY_MEMORY, NULL, gang), EEXIST);
    near[1] = spe_context_create_affinity(0, near[0], gang);
    near[2] = spe_context_create_affinity(0, near[1], gang);
    expect("a third neighbor", !spe_context_create_affinity(0, near[1], gang), EEXIST);
    expect("another gang", !spe_context_create_affinity(0, near[1], NULL), ESRCH);
    expect("a gang in use", spe_gang_context_destroy(gang) < 0, EAGAIN);
    for (int i = 0; i < 3; i++)
        spe_context_destroy(near[i]);
    expect("a gang", spe_gang_context_destroy(gang) == 0, 0);
    expect("a kind of processor", spe_cpu_info_get(SPE_CPU_TYPE, -1) == SPE_CPU_IS_CELLBE, 0);
    expect("nothing of the kind", spe_cpu_info_get(SPE_CPU_TYPE + 1, -1) < 0, EINVAL);
    spe_context_ptr_t kept = spe_context_create(SPE_NOSCHED, NULL);
    expect("a context that is kept", kept && spe_context_destroy(kept) == 0, 0);
    while (open("refused.c", O_RDONLY) >= 0)
        files++;
    expect("a file too many", files > 100, EMFILE);
    return spe_context_destroy(spe);
}
