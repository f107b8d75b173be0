/* Numbers that are printed, read and computed with the C library. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char name[10], *end;
  double d = 0, other;
  float f = 0;
  long double l = 0;
  long long big = 0;
  short s = 0;
  int i = 0, hex = 0;
  unsigned char c = 0;
  div_t parts = div(17, 5);
  volatile double two = 2, minus = -1.5;
  volatile long long huge = LLONG_MAX;
  long long product;

  printf("%d %u %hd %hhd %ld %lld %llx\n", -1, -1, (short)-2, (char)3, 4L, LLONG_MIN, ULLONG_MAX);
  printf("%f %e %g %a %.3f %10.2e|\n", 1.5, -12345.678, 1e100, 1.0, 2.0 / 3, 1e-5);
  printf("%Lf %Lg\n", 1.25L, 1e300L);
  printf("%5s|%-5s|%.2s|%c|%p|%%|%n\n", "ab", "cd", "efg", 'x', (void *)16, &i);
  printf("%d\n", i);
  printf("%vd|%,vf|%hvx|%vc|%*.1vf|%d %vu %lld %vhd %s\n", (__vector int){1, -2, 3, 4}, (__vector float){1, 2.5f, -3, 0},
         (__vector unsigned short){1, 2, 3, 4, 5, 6, 7, 0xffff},
         (__vector unsigned char){'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'}, 5,
         (__vector float){1, 2.5f, -3, 0}, 7, (__vector unsigned){1, 2, 3, -1}, 1LL << 40,
         (__vector short){1, 2, 3, 4, 5, 6, 7, -8}, "end");
  i = sscanf("12 -7 3.5 1e10 2.25 0x1F name 9000000000 200", "%d %hd %f %lf %Lf %x %9s %lld %hhu", &i, &s, &f, &d,
             &l, &hex, name, &big, &c);
  printf("%d %d %g %g %Lg %x %s %lld %d\n", i, s, f, d, l, hex, name, big, c);
  printf("%ld ", strtol("-77abc", &end, 10));
  printf("%s %lu ", end, strtoul("ff", 0, 16));
  d = strtod("6.25e2xyz", &end);
  printf("%g %s\n", d, end);
  i = strtol("123", &end, 10);
  printf("%d [%s] ", i, end);
  d = strtod("4.5", &end);
  printf("%g [%s]\n", d, end);
  d = frexp(8.0, &i);
  printf("%g %d ", d, i);
  d = modf(3.25, &other);
  printf("%g %g ", d, other);
  d = remquo(7.5, 2.0, &i);
  printf("%g %d\n", d, i);
  printf("%.6f %.6f %.6f %.6f\n", sqrt(two), sin(two), pow(two, 0.5), exp(two));
  printf("%g %g %g %g %g\n", floor(minus), ceil(minus), fabs(minus), fmod(7.5, two), trunc(minus));
  printf("%g %g %g\n", fmin(two, minus), fmax(two, minus), fma(two, two, minus));
  printf("%g %g %d %d\n", fmin(NAN, two), fmaxf(1.0f, NAN), isnan(NAN) != 0, isinf(INFINITY) != 0);
  printf("%d %d %d %d\n", parts.quot, parts.rem, abs(-3), atoi("42"));
  printf("%lld %llu\n", huge / 1000000007, 18446744073709551615ull % 1000000007);
  i = __builtin_mul_overflow(huge, 3LL, &product);
  printf("%d %lld\n", i, product);
  printf("%d %d\n", (int)minus, (unsigned char)two);
  printf("%x %x\n", __builtin_bswap32(0x01020304), (unsigned)__builtin_clz(0x00ffffff));
  return 0;
}
