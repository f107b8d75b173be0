/* All headers of a side in C++, where `vector` and `bool` have other meanings, too; and overloads
   of both languages. */
#ifdef __SPU__
#include <cbe_mfc.h>
#include <spu_internals.h>
#include <spu_intrinsics.h>
#include <spu_mfcio.h>
#include <spu_timer.h>
#include <vmx2spu.h>
#else
#include <altivec.h>
#include <cbe_mfc.h>
#include <cbea_map.h>
#include <libspe.h>
#include <ppu_intrinsics.h>
#include <spu2vmx.h>
#endif
#include <calloc_align.h>
#include <free_align.h>
#include <libmisc.h>
#include <libsync.h>
#include <libmatrix.h>
#include <libvector.h>
#include <malloc_align.h>
#include <mutex_lock.h>
#include <profile.h>
#include <realloc_align.h>
#include <simdmath.h>
#include <simdmath/sinf4.h>
#include <stdarg.h>
#include <sys/queue.h>
#include <vec_literal.h>
#include <vec_types.h>
#include "expect.h"

template <typename T> struct pair {
  T vector[2];
};

static vector float twice(vector float v) { return v + v; }
static vector unsigned int twice(vector unsigned int v) { return v + v; }

static double sum(int n, ...) {
  va_list list;
  double total = 0;
  va_start(list, n);
  for (; n > 0; n--) total += va_arg(list, double);
  va_end(list);
  return total;
}

int main() {
  pair<vector float> p = {{(vector float)(1.5f), VEC_LITERAL(vector float, 1, 2, 3, 4)}};
  vector unsigned int words = (vector unsigned int)(3);
  bool vector = true;
  prof_start(), prof_cp3(), prof_stop();
  EXPECT(vector && twice(p.vector[1])[3] == 8 && twice(words)[0] == 6)
#ifdef __SPU__
  EXPECT(spu_extract(spu_add(p.vector[0], p.vector[1]), 2) == 4.5f && spu_extract(spu_rl(words, 1), 3) == 6)
  EXPECT(spu_extract(spu_sel(words, spu_splats(9u), spu_cmpgt(words, 2)), 1) == 9)
#else
  EXPECT(vec_extract(vec_add(p.vector[0], p.vector[1]), 2) == 4.5f && vec_all_eq(words, vec_splat_u32(3)))
  EXPECT(vec_extract(vec_sel(words, vec_splat_u32(9), vec_cmpgt(words, vec_splat_u32(2))), 1) == 9)
#endif
  EXPECT(fabsf4(p.vector[0])[0] == 1.5f && dot_product3(p.vector[0], p.vector[1]) == 9 && clog2(9) == 4)
  EXPECT(sum(3, 1.0, 2.0f, 0.5) == 3.5)
  return failures != 0;
}
