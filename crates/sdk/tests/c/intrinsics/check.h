/* What the tests of intrinsics share: quadwords as all types, numbers, and a comparison that
   says what differs. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>
#include <vec_types.h>

typedef union {
  unsigned char b[16];
  vec_uchar16 uchar16;
  vec_char16 char16;
  vec_ushort8 ushort8;
  vec_short8 short8;
  vec_uint4 uint4;
  vec_int4 int4;
  vec_ullong2 ullong2;
  vec_llong2 llong2;
  vec_float4 float4;
  vec_double2 double2;
  unsigned char e_uchar16[16];
  signed char e_char16[16];
  unsigned short e_ushort8[8];
  short e_short8[8];
  unsigned e_uint4[4];
  int e_int4[4];
  unsigned long long e_ullong2[2];
  long long e_llong2[2];
  float e_float4[4];
  double e_double2[2];
} quad;

/* X(f, name of the type, scalar, bits) */
#define EACH_BYTE(X, f) X(f, uchar16, unsigned char, 8) X(f, char16, signed char, 8)
#define EACH_HALF(X, f) X(f, ushort8, unsigned short, 16) X(f, short8, short, 16)
#define EACH_WORD(X, f) X(f, uint4, unsigned, 32) X(f, int4, int, 32)
#define EACH_LONG(X, f) X(f, ullong2, unsigned long long, 64) X(f, llong2, long long, 64)
#define EACH_REAL(X, f) X(f, float4, float, 32) X(f, double2, double, 64)
#define EACH_INT(X, f) EACH_BYTE(X, f) EACH_HALF(X, f) EACH_WORD(X, f)
#define EACH(X, f) EACH_INT(X, f) EACH_LONG(X, f) EACH_REAL(X, f)

static int failures;
static quad a, b, c, got, want;
static int i, round_;

static unsigned number(void) {
  static unsigned long long state = 88172645463325252ull;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)(state >> 16);
}

/* Bits that find mistakes: any, and often the ends of the ranges of all widths. */
static void fill(quad *q) {
  static const unsigned ends[] = {0, 0xffffffff, 0x80000000, 0x7fffffff, 0x80008000, 0x7fff7fff, 0x80808080, 1, 0x00010001};
  int k;
  for (k = 0; k < 4; k++) q->e_uint4[k] = number() & 3 ? number() : ends[number() % 9];
}

/* Numbers of floating point that add and multiply without rounding. */
static void reals(quad *q, int is_double) {
  int k;
  for (k = 0; k < 4; k++) {
    double x = ((int)(number() % 4001) - 2000) / 16.0;
    if (!is_double) q->e_float4[k] = (float)x;
    else if (k < 2) q->e_double2[k] = x;
  }
}

static void print(const char *name, const quad *q) {
  int k;
  printf("  %s", name);
  for (k = 0; k < 4; k++) printf(" %08x", q->e_uint4[k]);
  printf("\n");
}

static void check(const char *intrinsic, const char *type) {
  if (memcmp(&got, &want, 16) == 0 || ++failures > 20) return;
  printf("%s of %s\n", intrinsic, type);
  print("a   ", &a), print("b   ", &b), print("c   ", &c), print("got ", &got), print("want", &want);
}

/* Calls with the quadwords a, b and c of one type: `value` is the scalar definition of element
   i. */
#define ELEMENTWISE(intrinsic, V, R, n, call, value) \
  for (i = 0; i < n; i++) want.e_##R[i] = value; \
  got.R = call; \
  check(intrinsic, #V);

#define TIMES(n) for (round_ = 0; round_ < (n); round_++)

#endif
