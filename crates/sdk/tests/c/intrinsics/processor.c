/* The intrinsics of the PPU that are no vectors, but for time and reservations; and lists of
   sys/queue.h. For the PPU. */
#include <ppu_intrinsics.h>
#include <stddef.h>
#include <sys/queue.h>
#include "expect.h"

struct item {
  int n;
  SLIST_ENTRY(item) s;
  LIST_ENTRY(item) l;
  STAILQ_ENTRY(item) st;
  TAILQ_ENTRY(item) t;
};
static struct item items[4] = {{1}, {2}, {3}, {4}}, *at;
static SLIST_HEAD(, item) s = SLIST_HEAD_INITIALIZER(s);
static LIST_HEAD(, item) l = LIST_HEAD_INITIALIZER(l);
static STAILQ_HEAD(, item) st = STAILQ_HEAD_INITIALIZER(st);
static TAILQ_HEAD(items, item) t = TAILQ_HEAD_INITIALIZER(t);

/* The numbers of a list as digits. */
#define DIGITS(KIND, head, link) ({ int digits = 0; KIND##_FOREACH(at, head, link) digits = digits * 10 + at->n; digits; })

static void queues(void) {
  EXPECT(SLIST_EMPTY(&s) && LIST_EMPTY(&l) && STAILQ_EMPTY(&st) && TAILQ_EMPTY(&t) && TAILQ_LAST(&t, items) == NULL)
  SLIST_INSERT_HEAD(&s, &items[0], s);
  SLIST_INSERT_HEAD(&s, &items[1], s);
  SLIST_INSERT_AFTER(&items[1], &items[2], s);
  EXPECT(DIGITS(SLIST, &s, s) == 231)
  SLIST_REMOVE(&s, &items[2], item, s);
  SLIST_REMOVE_HEAD(&s, s);
  EXPECT(DIGITS(SLIST, &s, s) == 1)

  LIST_INSERT_HEAD(&l, &items[0], l);
  LIST_INSERT_BEFORE(&items[0], &items[1], l);
  LIST_INSERT_AFTER(&items[1], &items[2], l);
  LIST_INSERT_HEAD(&l, &items[3], l);
  EXPECT(DIGITS(LIST, &l, l) == 4231)
  LIST_REMOVE(&items[2], l);
  LIST_REMOVE(&items[3], l);
  LIST_REMOVE(&items[0], l);
  EXPECT(DIGITS(LIST, &l, l) == 2)

  STAILQ_INSERT_TAIL(&st, &items[0], st);
  STAILQ_INSERT_HEAD(&st, &items[1], st);
  STAILQ_INSERT_AFTER(&st, &items[0], &items[2], st);
  STAILQ_INSERT_TAIL(&st, &items[3], st);
  EXPECT(DIGITS(STAILQ, &st, st) == 2134)
  STAILQ_REMOVE(&st, &items[3], item, st);
  STAILQ_REMOVE_HEAD(&st, st);
  STAILQ_INSERT_TAIL(&st, &items[1], st);
  EXPECT(DIGITS(STAILQ, &st, st) == 132)

  TAILQ_INSERT_TAIL(&t, &items[0], t);
  TAILQ_INSERT_HEAD(&t, &items[1], t);
  TAILQ_INSERT_AFTER(&t, &items[0], &items[2], t);
  TAILQ_INSERT_BEFORE(&items[0], &items[3], t);
  EXPECT(DIGITS(TAILQ, &t, t) == 2413)
  EXPECT(TAILQ_LAST(&t, items) == &items[2] && TAILQ_PREV(&items[0], items, t) == &items[3])
  EXPECT(TAILQ_PREV(&items[1], items, t) == NULL)
  TAILQ_REMOVE(&t, &items[2], t);
  TAILQ_REMOVE(&t, &items[1], t);
  EXPECT(DIGITS(TAILQ, &t, t) == 41)
  {
    int digits = 0;
    TAILQ_FOREACH_REVERSE(at, &t, items, t) digits = digits * 10 + at->n;
    EXPECT(digits == 14)
  }
}

int main(void) {
  static unsigned char line[512] __attribute__((aligned(128)));
  unsigned n, word = 0x01020304;
  unsigned long long a = 0xfedcba9876543210ull;
  EXPECT(__cntlzw(0) == 32 && __cntlzw(1) == 31 && __cntlzw(0x80000000) == 0)
  EXPECT(__cntlzd(0) == 64 && __cntlzd(1) == 63 && __cntlzd(1ull << 40) == 23)
  EXPECT(__mulhw(-3, 0x40000000) == -1 && __mulhwu(0xfffffffd, 0x40000000) == 0x3fffffff)
  EXPECT(__mulhdu(0xffffffffffffffffull, 0xffffffffffffffffull) == 0xfffffffffffffffeull)
  EXPECT(__mulhdu(1ull << 63, 6) == 3 && __mulhd(-1, 5) == -1 && __mulhd(-(1ll << 62), -8) == 2)
  EXPECT(__rlwinm(0x12345678, 8, 24, 31) == 0x12 && __rlwinm(0x12345678, 0, 0, 15) == 0x12340000)
  EXPECT(__rlwnm(0x12345678, 36, 28, 3) == 0x20000001)
  EXPECT(__rlwimi(0xaaaaaaaa, 0x12345678, 4, 8, 15) == 0xaa45aaaa)
  EXPECT(__lwbrx(&word) == 0x04030201 && __lhbrx(&word) == 0x0201 && __ldbrx(&a) == 0x1032547698badcfeull)
  __stwbrx(&word, 0x11223344);
  EXPECT(word == 0x44332211)
  EXPECT(__fsel(0, 1, 2) == 1 && __fsel(-0.5, 1, 2) == 2 && __fsels(3, 1, 2) == 1)
  EXPECT(__fmadd(2, 3, 4) == 10 && __fmsub(2, 3, 4) == 2 && __fnmadd(2, 3, 4) == -10 && __fnmsubs(2, 3, 4) == -2)
  EXPECT(__fabs(-2) == 2 && __fnabsf(2) == -2 && __fsqrt(9) == 3 && __fsqrts(2.25f) == 1.5f)
  EXPECT(__rldicl(a, 8, 56) == 0xfe && __rldicr(a, 8, 7) == 0xdc00000000000000ull && __rldcl(a, 72, 56) == 0xfe)
  EXPECT(__rldcr(a, 4, 63) == 0xedcba9876543210full && __rldic(a, 4, 32) == 0x65432100)
  EXPECT(__rldimi(~0ull, 0x55, 8, 48) == 0xffffffffffff55ffull)
  EXPECT(__fctid(2.5) == 2 && __fctidz(-2.9) == -2 && __fctid(1e30) == 0x7fffffffffffffffll && __fctidz(-1e30) == -0x7fffffffffffffffll - 1)
  EXPECT(__fctiw(-3.5) == -4 && __fctiwz(3e9) == 0x7fffffff && __fctiwz(-3e9) == -0x7fffffff - 1 && __fctiwz(-2147483648.5) == -0x7fffffff - 1)
  EXPECT(__fctidz(0.0 / (double)(n = 0)) == -0x7fffffffffffffffll - 1 && __fcfid(-5) == -5 && __frsp(0.1) == 0.1f && __fmuls(3, 0.5f) == 1.5f)
  EXPECT(__setflm(1.0) == 0 && __mfspr(1) == 0)
  __mtfsf(1, 2.0), __mtfsfi(1, 2), __mtfsb0(1), __mtfsb1(1), __mtspr(1, 2), __dcbi(line);
  for (n = 0; n < 512; n++) line[n] = 1;
  __dcbz(line + 200);
  for (n = 0; n < 512; n++) EXPECT(line[n] == (n < 128 || n >= 256))
  __sync(), __lwsync(), __eieio(), __isync(), __nop(), __dcbt(line), __dcbf(line), __dcbst(line);
  queues();
  return failures != 0;
}
