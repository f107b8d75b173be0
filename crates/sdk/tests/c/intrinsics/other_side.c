/* The intrinsics of the other side: spu_* and si_* on the PPU, vec_* on an SPU, and both
   together. */
#ifdef __SPU__
#include <vmx2spu.h>
#else
#include <spu2vmx.h>
#endif
#include <simdmath.h>
#include "check.h"

#define A(V) a.e_##V[i]
#define B(V) b.e_##V[i]

int main(void) {
  TIMES(100) {
    static unsigned words[8] __attribute__((aligned(16)));
    reals(&a, 0), reals(&b, 0);
    ELEMENTWISE("spu_madd", float4, float4, 4, spu_madd(a.float4, b.float4, a.float4), A(float4) * B(float4) + A(float4))
    ELEMENTWISE("vec_max", float4, float4, 4, vec_max(a.float4, b.float4), A(float4) > B(float4) ? A(float4) : B(float4))
    ELEMENTWISE("spu_sel of vec_cmpgt", float4, float4, 4, spu_sel(a.float4, b.float4, vec_cmpgt(b.float4, a.float4)),
                A(float4) < B(float4) ? B(float4) : A(float4))
    ELEMENTWISE("vec_sel of spu_cmpgt", float4, float4, 4, vec_sel(a.float4, b.float4, spu_cmpgt(a.float4, b.float4)),
                A(float4) > B(float4) ? B(float4) : A(float4))
    fill(&a), fill(&b);
    ELEMENTWISE("spu_add", int4, int4, 4, spu_add(a.int4, 7), (int)(a.e_uint4[i] + 7))
    ELEMENTWISE("vec_adds", short8, short8, 8, vec_adds(a.short8, b.short8),
                A(short8) + B(short8) > 32767 ? 32767 : A(short8) + B(short8) < -32768 ? -32768 : A(short8) + B(short8))
    ELEMENTWISE("spu_rlqwbyte", uchar16, uchar16, 16, spu_rlqwbyte(a.uchar16, 3), a.b[(i + 3) & 15])
    ELEMENTWISE("vec_perm", uchar16, uchar16, 16, vec_perm(a.uchar16, b.uchar16, vec_lvsl(5, words)), i < 11 ? a.b[i + 5] : b.b[i - 11])
    ELEMENTWISE("si_a", uint4, uint4, 4, (vec_uint4)si_a((qword)a.uint4, (qword)b.uint4), A(uint4) + B(uint4))
    ELEMENTWISE("si_rotqbyi", uchar16, uchar16, 16, (vec_uchar16)si_rotqbyi((qword)a.uchar16, 9), a.b[(i + 9) & 15])
    si_stqd((qword)a.uint4, si_from_ptr(words), 16);
    ELEMENTWISE("si_lqd", uint4, uint4, 4, (vec_uint4)si_lqd(si_from_ptr(words + 1), 16), A(uint4))
    ELEMENTWISE("spu_extract, spu_splats", int4, int4, 4, spu_splats(spu_extract(a.int4, 2)), a.e_int4[2])
    ELEMENTWISE("vec_all_eq", int4, int4, 4, spu_splats(vec_all_eq(a.int4, a.int4)), 1)
  }
  return failures != 0;
}
