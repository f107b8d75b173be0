/* libspe, version 1: groups, threads, mailboxes, signals, events and the status at the end. */
#include <libspe.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

extern spe_program_handle_t threads1;

int main(void) {
  struct spe_event event;
  int status, data = 7, *kept;
  spe_gid_t group = spe_create_group(SCHED_OTHER, 0, 1);
  speid_t alone = spe_create_thread(NULL, &threads1, (void *)10, (void *)20, -1, 0);
  speid_t one = spe_create_thread(group, &threads1, (void *)30, NULL, -1, 0);

  printf("waits %d, group has %d, maximum %d\n", spe_wait(alone, &status, WNOHANG), spe_get_threads(group, NULL),
         spe_group_max(group));
  printf("room %d\n", spe_stat_in_mbox(alone));
  spe_write_in_mbox(alone, 1);
  while (!spe_stat_out_mbox(alone)) {}
  printf("word %u", spe_read_out_mbox(alone));
  printf(", then %u\n", spe_read_out_mbox(alone));
  printf("wait %d", spe_wait(alone, &status, 0));
  printf(", exited %d with %d\n", WIFEXITED(status), WEXITSTATUS(status));

  spe_set_app_data(one, &data), spe_get_app_data(one, (void **)&kept);
  printf("data %d, local store %d\n", *kept, spe_get_ls(one) != NULL);
  event.gid = group, event.events = SPE_EVENT_MAILBOX | SPE_EVENT_STOP | SPE_EVENT_THREAD_EXIT;
  printf("no event %d\n", spe_get_event(&event, 1, 2));
  spe_write_in_mbox(one, 2);
  spe_write_signal(one, SPE_SIG_NOTIFY_REG_1, 99);
  printf("events %d", spe_get_event(&event, 1, -1));
  printf(": mailbox %d of the thread %d, data %lu\n", event.revents == SPE_EVENT_MAILBOX, event.speid == one, event.data);
  printf("events %d", spe_get_event(&event, 1, -1));
  printf(": stop %d, data %lx\n", event.revents == SPE_EVENT_STOP, event.data);
  printf("continued %d\n", spe_kill(one, SIGCONT));
  event.events = SPE_EVENT_THREAD_EXIT;
  printf("events %d", spe_get_event(&event, 1, -1));
  printf(": exit %d, reason %lu\n", event.revents == SPE_EVENT_THREAD_EXIT, event.data);
  printf("word %u\n", spe_read_out_mbox(one));
  printf("busy %d", spe_destroy_group(group));
  printf(", wait %d", spe_wait(one, &status, 0));
  printf(", exited %d with %d", WIFEXITED(status), WEXITSTATUS(status));
  printf(", destroyed %d\n", spe_destroy_group(group));
  return spe_create_thread(NULL, NULL, NULL, NULL, -1, 0) != NULL;
}
