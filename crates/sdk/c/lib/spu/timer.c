/* A clock from the decrementer, and timers that its readers serve. */
#include <spu_mfcio.h>
#include <spu_timer.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned starts, last;
static uint64_t now;

static struct {
  void (*function)(int); /* NULL is a free timer */
  unsigned interval;
  int runs;
  uint64_t next;
} timers[SPU_TIMER_NTIMERS];

static void advance(void) {
  unsigned ticks = spu_read_decrementer();
  now += last - ticks; /* the decrementer counts downwards, and around */
  last = ticks;
}

void spu_clock_start(void) {
  if (starts++ > 0) return;
  now = 0, last = 0xffffffff;
  spu_write_decrementer(last);
}

uint64_t spu_clock_read(void) {
  if (starts == 0) return 0;
  advance();
  for (int id = 0; id < SPU_TIMER_NTIMERS; id++) {
    /* An interrupt would have come at the end of each interval. */
    while (timers[id].runs && now >= timers[id].next) {
      timers[id].next += timers[id].interval;
      timers[id].function(id);
    }
  }
  return now;
}

int spu_clock_stop(void) {
  if (starts == 0) return SPU_CLOCK_ERR_NOT_RUNNING;
  if (starts == 1) {
    for (int id = 0; id < SPU_TIMER_NTIMERS; id++)
      if (timers[id].runs) return SPU_CLOCK_ERR_TIMERS_ACTIVE;
  }
  advance();
  return --starts == 0 ? 0 : SPU_CLOCK_ERR_STILL_RUNNING;
}

int spu_timer_alloc(int interval, void (*function)(int id)) {
  if (interval < SPU_TIMER_MIN_INTERVAL || !function) return SPU_TIMER_ERR_INVALID_PARM;
  for (int id = 0; id < SPU_TIMER_NTIMERS; id++) {
    if (timers[id].function) continue;
    timers[id].function = function, timers[id].interval = (unsigned)interval, timers[id].runs = 0;
    return id;
  }
  return -1;
}

static int missing(int id) {
  if (id < 0 || id >= SPU_TIMER_NTIMERS) return SPU_TIMER_ERR_INVALID_ID;
  return timers[id].function ? 0 : SPU_TIMER_ERR_FREE;
}

int spu_timer_start(int id) {
  int error = missing(id);
  if (error) return error;
  if (timers[id].runs) return SPU_TIMER_ERR_ACTIVE;
  if (starts == 0) return SPU_TIMER_ERR_NOCLOCK;
  advance();
  timers[id].runs = 1, timers[id].next = now + timers[id].interval;
  return 0;
}

int spu_timer_stop(int id) {
  int error = missing(id);
  if (error) return error;
  if (!timers[id].runs) return SPU_TIMER_ERR_NOT_ACTIVE;
  timers[id].runs = 0;
  return 0;
}

int spu_timer_free(int id) {
  int error = missing(id);
  if (error) return error;
  if (timers[id].runs) return SPU_TIMER_ERR_NOT_STOPPED;
  timers[id].function = 0;
  return 0;
}

unsigned spu_timebase(void) { return 79800000; }

/* Readers of the clock serve the timers, so nothing else is needed for them. */
void spu_slih_register(unsigned mask, unsigned (*function)(unsigned events)) {
  if (mask == 0 || function == 0 || function == spu_clock_slih) return;
  fputs("error: spu_slih_register: no interrupt comes to a program of an SPU here; wait for its events with "
        "spu_read_event_status()\n", stderr);
  abort();
}

unsigned spu_clock_slih(unsigned events) { return events & ~(unsigned)MFC_DECREMENTER_EVENT; }
