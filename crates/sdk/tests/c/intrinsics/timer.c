/* The clock and timers, with a decrementer of the test's own. */
#include <spu_mfcio.h>
#include "expect.h"

static unsigned decrementer, step; /* it falls by `step` at each reading */
static unsigned read_channel(unsigned channel) {
  EXPECT(channel == 8)
  return decrementer -= step;
}
static void write_channel(unsigned channel, unsigned value) {
  EXPECT(channel == 7)
  decrementer = value;
}
#define __cw_read_channel(channel) read_channel(channel)
#define __cw_write_channel(channel, value) write_channel(channel, value)
#include "../../../c/lib/spu/timer.c"

static int calls[SPU_TIMER_NTIMERS];
static void called(int id) { calls[id]++; }

int main(void) {
  int k, id;
  EXPECT(spu_clock_read() == 0 && spu_clock_stop() == SPU_CLOCK_ERR_NOT_RUNNING)
  spu_slih_register(MFC_DECREMENTER_EVENT, spu_clock_slih);
  EXPECT(spu_clock_slih(MFC_DECREMENTER_EVENT | MFC_SIGNAL_NOTIFY_1_EVENT) == MFC_SIGNAL_NOTIFY_1_EVENT)
  EXPECT(spu_timer_start(0) == SPU_TIMER_ERR_FREE && spu_timer_start(9) == SPU_TIMER_ERR_INVALID_ID)
  EXPECT(spu_timer_alloc(1, called) == SPU_TIMER_ERR_INVALID_PARM)
  id = spu_timer_alloc(1000, called);
  EXPECT(id == 0 && spu_timer_start(id) == SPU_TIMER_ERR_NOCLOCK)
  spu_clock_start(), spu_clock_start();
  step = 10;
  for (k = 1; k <= 100; k++) EXPECT(spu_clock_read() == (unsigned)k * 10)
  /* It goes on when the decrementer turns around. */
  step = 0x40000000;
  for (k = 1; k <= 20; k++) EXPECT(spu_clock_read() == 1000 + k * 0x40000000ull)
  step = 300;
  EXPECT(spu_timer_start(id) == 0 && spu_timer_start(id) == SPU_TIMER_ERR_ACTIVE)
  for (k = 0; k < 40; k++) spu_clock_read();
  EXPECT(calls[id] == 12) /* each 1,000 ticks, seen at a multiple of 300 */
  step = 5000, spu_clock_read();
  EXPECT(calls[id] == 17)
  EXPECT(spu_clock_stop() == SPU_CLOCK_ERR_STILL_RUNNING && spu_clock_stop() == SPU_CLOCK_ERR_TIMERS_ACTIVE)
  EXPECT(spu_timer_free(id) == SPU_TIMER_ERR_NOT_STOPPED && spu_timer_stop(id) == 0)
  EXPECT(spu_timer_stop(id) == SPU_TIMER_ERR_NOT_ACTIVE && spu_timer_free(id) == 0)
  EXPECT(spu_clock_stop() == 0)
  for (k = 0; k < SPU_TIMER_NTIMERS; k++) EXPECT(spu_timer_alloc(1000, called) == k)
  EXPECT(spu_timer_alloc(1000, called) == -1)
  return failures != 0;
}
