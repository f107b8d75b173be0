/* Halts, events, stops and channels: what is asked of the runtime, with the test's own in its
   place. */
#include <spu_intrinsics.h>
#include "expect.h"

static int halts, stopped, events, calls;
static unsigned channel_, value_;
static void halt(void) { halts++; }
static void stop(unsigned code) { stopped = (int)code; }
static unsigned read_channel(unsigned channel) { return channel_ = channel, 77; }
static unsigned count(unsigned channel) { return channel == 0 ? (unsigned)events : channel + 100; }
static unsigned tag_status(unsigned update) { return value_ = update, 78; }
static void write_channel(unsigned channel, unsigned value) { channel_ = channel, value_ = value; }
#define __cw_halt halt
#define __cw_stop stop
#define __cw_rchcnt count
#define __cw_read_channel read_channel
#define __cw_count_channel count
#define __cw_write_channel write_channel
#define __cw_tag_status tag_status

static void on_event(void) { calls++; }

int main(void) {
  int minus = -1;
  spu_hcmpeq(1, 2), spu_hcmpgt(minus, 0), spu_hcmpgt(1, 1);
  EXPECT(halts == 0)
  spu_hcmpeq(minus, -1), spu_hcmpgt((unsigned)minus, 0u), spu_hcmpgt(2, 1);
  si_heqi(si_from_int(5), 5), si_hgt(si_from_int(-1), si_from_int(1)), si_hlgt(si_from_int(-1), si_from_int(1));
  EXPECT(halts == 5)
  spu_stop(0x1234);
  EXPECT(stopped == 0x1234)
  spu_bisled(on_event);
  EXPECT(calls == 0)
  events = 1, spu_bisled(on_event), spu_bisled_e(on_event), spu_bisled_d(on_event);
  EXPECT(calls == 3)
  EXPECT(spu_readch(SPU_RdInMbox) == 77 && channel_ == 29 && spu_readchcnt(SPU_RdDec) == 108)
  spu_writech(SPU_WrOutMbox, 5);
  EXPECT(channel_ == 28 && value_ == 5)
  EXPECT(spu_extract(spu_readchqw(SPU_RdSigNotify1), 0) == 77 && channel_ == 3)
  spu_writechqw(SPU_WrDec, ((vec_uint4){9, 1, 1, 1}));
  EXPECT(channel_ == 7 && value_ == 9)
  EXPECT(si_to_uint(si_rdch(SPU_RdInMbox)) == 77 && si_to_int(si_rchcnt(SPU_RdDec)) == 108)
  EXPECT(spu_mfcstat(2) == 78 && value_ == 2)
  spu_ienable(), spu_idisable(), spu_sync(), spu_sync_c(), spu_dsync(), si_nop(), si_lnop();
  spu_mtfpscr(spu_mffpscr());
  return failures != 0;
}
