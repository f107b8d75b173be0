/* Conversions between integers, floating point and widths. */
#include <spu_intrinsics.h>
#include "check.h"

static double power2(int n) {
  double x = 1;
  for (; n > 0; n--) x *= 2;
  for (; n < 0; n++) x /= 2;
  return x;
}

static int to_int(double x) { return x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : (int)x; }
static unsigned to_unsigned(double x) { return x >= 4294967295.0 ? 4294967295u : x <= 0 ? 0 : (unsigned)x; }

static void scaled(void) {
  int n;
  TIMES(512) {
    n = round_ % 128, fill(&a);
    ELEMENTWISE("spu_convtf", int4, float4, 4, spu_convtf(a.int4, n), (float)((float)a.e_int4[i] * power2(-n)))
    ELEMENTWISE("spu_convtf", uint4, float4, 4, spu_convtf(a.uint4, n), (float)((float)a.e_uint4[i] * power2(-n)))
    ELEMENTWISE("spu_convtf by 0", int4, float4, 4, spu_convtf(a.int4, 0), (float)a.e_int4[i])
    ELEMENTWISE("spu_convtf by 8", uint4, float4, 4, spu_convtf(a.uint4, 8), (float)a.e_uint4[i] / 256)
    reals(&a, 0);
    if (round_ < 10) a.float4 = (vec_float4){4e9f, -4e9f, 2147483648.0f, 0.99f};
    ELEMENTWISE("spu_convts", float4, int4, 4, spu_convts(a.float4, n), to_int(a.e_float4[i] * power2(n)))
    ELEMENTWISE("spu_convtu", float4, uint4, 4, spu_convtu(a.float4, n), to_unsigned(a.e_float4[i] * power2(n)))
    ELEMENTWISE("spu_convts by 0", float4, int4, 4, spu_convts(a.float4, 0), to_int(a.e_float4[i]))
  }
}

static void widths(void) {
  TIMES(200) {
    fill(&a);
    ELEMENTWISE("spu_extend", char16, short8, 8, spu_extend(a.char16), a.e_char16[2 * i + 1])
    ELEMENTWISE("spu_extend", short8, int4, 4, spu_extend(a.short8), a.e_short8[2 * i + 1])
    ELEMENTWISE("spu_extend", int4, llong2, 2, spu_extend(a.int4), a.e_int4[2 * i + 1])
    reals(&a, 0);
    ELEMENTWISE("spu_extend", float4, double2, 2, spu_extend(a.float4), a.e_float4[2 * i])
    reals(&a, 1);
    ELEMENTWISE("spu_roundtf", double2, float4, 4, spu_roundtf(a.double2), i % 2 ? 0 : (float)a.e_double2[i / 2])
  }
}

int main(void) {
  scaled();
  widths();
  return failures != 0;
}
