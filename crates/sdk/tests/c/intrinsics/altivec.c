/* The vector intrinsics of the PPU, of each type, against scalar definitions. Compiled for the
   PPU. */
#include <altivec.h>
#include "check.h"

#define A(V) a.e_##V[i]
#define B(V) b.e_##V[i]
#define C(V) c.e_##V[i]
#define IN(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
#define LOW_uchar16 0
#define LOW_char16 -128
#define LOW_ushort8 0
#define LOW_short8 -32768
#define LOW_uint4 0
#define LOW_int4 (-2147483647ll - 1)
#define HIGH_uchar16 255
#define HIGH_char16 127
#define HIGH_ushort8 65535
#define HIGH_short8 32767
#define HIGH_uint4 4294967295ll
#define HIGH_int4 2147483647ll
#define UNSIGNED_8 uchar16
#define UNSIGNED_16 ushort8
#define UNSIGNED_32 uint4
#define COUNT(q, bits) COUNT_(q, UNSIGNED_##bits)
#define COUNT_(q, R) q.R
#define COUNT_OF(q, bits) COUNT_OF_(q, UNSIGNED_##bits)
#define COUNT_OF_(q, R) COUNT_OF__(q, R)
#define COUNT_OF__(q, R) q.e_##R[i]

#define INTEGERS(f, V, E, bits) \
  static void integers_##V(void) { \
    const int n = 128 / bits; \
    const unsigned last = bits - 1; \
    TIMES(300) { \
      fill(&a), fill(&b), fill(&c); \
      if (round_ % 3 == 0) b = a; \
      ELEMENTWISE("vec_add", V, V, n, vec_add(a.V, b.V), (E)((unsigned)A(V) + (unsigned)B(V))) \
      ELEMENTWISE("vec_sub", V, V, n, vec_sub(a.V, b.V), (E)((unsigned)A(V) - (unsigned)B(V))) \
      ELEMENTWISE("vec_adds", V, V, n, vec_adds(a.V, b.V), (E)IN((long long)A(V) + B(V), LOW_##V, HIGH_##V)) \
      ELEMENTWISE("vec_subs", V, V, n, vec_subs(a.V, b.V), (E)IN((long long)A(V) - B(V), LOW_##V, HIGH_##V)) \
      ELEMENTWISE("vec_max", V, V, n, vec_max(a.V, b.V), A(V) > B(V) ? A(V) : B(V)) \
      ELEMENTWISE("vec_min", V, V, n, vec_min(a.V, b.V), A(V) < B(V) ? A(V) : B(V)) \
      ELEMENTWISE("vec_avg", V, V, n, vec_avg(a.V, b.V), (E)(((long long)A(V) + B(V) + 1) >> 1)) \
      ELEMENTWISE("vec_sl", V, V, n, vec_sl(a.V, COUNT(b, bits)), (E)((unsigned)A(V) << (COUNT_OF(b, bits) & last))) \
      ELEMENTWISE("vec_sr", V, V, n, vec_sr(a.V, COUNT(b, bits)), (E)(COUNT_OF(a, bits) >> (COUNT_OF(b, bits) & last))) \
      ELEMENTWISE("vec_sra", V, V, n, vec_sra(a.V, COUNT(b, bits)), \
                  (E)((bits == 8 ? (int)a.e_char16[i % 16] : bits == 16 ? (int)a.e_short8[i % 8] : a.e_int4[i % 4]) >> \
                      (COUNT_OF(b, bits) & last))) \
      ELEMENTWISE("vec_rl", V, V, n, vec_rl(a.V, COUNT(b, bits)), \
                  (E)(COUNT_OF(a, bits) << (COUNT_OF(b, bits) & last) | \
                      (unsigned long long)COUNT_OF(a, bits) >> (bits - (COUNT_OF(b, bits) & last)))) \
      ELEMENTWISE("vec_extract, vec_splats", V, V, n, vec_splats(vec_extract(a.V, round_)), a.e_##V[round_ % n]) \
      ELEMENTWISE("vec_insert", V, V, n, vec_insert(b.e_##V[0], a.V, round_), i == round_ % n ? b.e_##V[0] : A(V)) \
    } \
  }
EACH_INT(INTEGERS, )

#define MASK(V) (V)
#define COMPARE(intrinsic, V, n, call, value) \
  for (i = 0; i < n; i++) memset(&want.b[i * 16 / n], (value) ? 0xff : 0, 16 / n); \
  got.uchar16 = (vec_uchar16)(call); \
  check(intrinsic, #V);
#define PREDICATE(name, op, V, n) \
  { \
    int all = 1, any = 0; \
    for (i = 0; i < n; i++) all &= A(V) op B(V), any |= A(V) op B(V); \
    want = got = a; \
    if (vec_all_##name(a.V, b.V) != all) want.b[0] ^= 1; \
    check("vec_all_" #name, #V); \
    want = a; \
    if (vec_any_##name(a.V, b.V) != any) want.b[0] ^= 1; \
    check("vec_any_" #name, #V); \
  }
#define ALL(f, V, E, bits) \
  static void all_##V(void) { \
    const int n = 128 / bits; \
    TIMES(200) { \
      if (#V[0] == 'f') reals(&a, 0), reals(&b, 0); \
      else fill(&a), fill(&b); \
      fill(&c); \
      for (i = 0; i < n; i++) \
        if (round_ % 4 == 0 || number() & 1) b.e_##V[i] = a.e_##V[i]; \
      COMPARE("vec_cmpeq", V, n, vec_cmpeq(a.V, b.V), A(V) == B(V)) \
      COMPARE("vec_cmpgt", V, n, vec_cmpgt(a.V, b.V), A(V) > B(V)) \
      COMPARE("vec_cmpge", V, n, vec_cmpge(a.V, b.V), A(V) >= B(V)) \
      COMPARE("vec_cmplt", V, n, vec_cmplt(a.V, b.V), A(V) < B(V)) \
      COMPARE("vec_cmple", V, n, vec_cmple(a.V, b.V), A(V) <= B(V)) \
      PREDICATE(eq, ==, V, n) PREDICATE(ne, !=, V, n) PREDICATE(gt, >, V, n) PREDICATE(ge, >=, V, n) \
      PREDICATE(lt, <, V, n) PREDICATE(le, <=, V, n) \
      ELEMENTWISE("vec_sel by vec_cmpgt", V, V, n, vec_sel(a.V, b.V, vec_cmpgt(b.V, a.V)), A(V) > B(V) ? A(V) : B(V)) \
      ELEMENTWISE("vec_sel", V, uchar16, 16, (vec_uchar16)vec_sel(a.V, b.V, COUNT(c, bits)), (a.b[i] & ~c.b[i]) | (b.b[i] & c.b[i])) \
      ELEMENTWISE("vec_and", V, uchar16, 16, (vec_uchar16)vec_and(a.V, b.V), a.b[i] & b.b[i]) \
      ELEMENTWISE("vec_andc", V, uchar16, 16, (vec_uchar16)vec_andc(a.V, b.V), a.b[i] & ~b.b[i]) \
      ELEMENTWISE("vec_or", V, uchar16, 16, (vec_uchar16)vec_or(a.V, b.V), a.b[i] | b.b[i]) \
      ELEMENTWISE("vec_xor", V, uchar16, 16, (vec_uchar16)vec_xor(a.V, b.V), a.b[i] ^ b.b[i]) \
      ELEMENTWISE("vec_nor", V, uchar16, 16, (vec_uchar16)vec_nor(a.V, b.V), ~(a.b[i] | b.b[i])) \
      ELEMENTWISE("vec_and with a mask", V, V, n, vec_and(a.V, vec_cmpeq(a.V, b.V)), A(V) == B(V) ? A(V) : 0) \
      ELEMENTWISE("vec_perm", V, uchar16, 16, (vec_uchar16)vec_perm(a.V, b.V, c.uchar16), c.b[i] & 16 ? b.b[c.b[i] & 15] : a.b[c.b[i] & 15]) \
      ELEMENTWISE("vec_sld", V, uchar16, 16, (vec_uchar16)vec_sld(a.V, b.V, 3), i < 13 ? a.b[i + 3] : b.b[i - 13]) \
      ELEMENTWISE("vec_sld by 0", V, uchar16, 16, (vec_uchar16)vec_sld(a.V, b.V, 0), a.b[i]) \
      ELEMENTWISE("vec_splat", V, V, n, vec_splat(a.V, 1), a.e_##V[1]) \
      ELEMENTWISE("vec_mergeh", V, V, n, vec_mergeh(a.V, b.V), i % 2 ? b.e_##V[i / 2] : a.e_##V[i / 2]) \
      ELEMENTWISE("vec_mergel", V, V, n, vec_mergel(a.V, b.V), i % 2 ? b.e_##V[n / 2 + i / 2] : a.e_##V[n / 2 + i / 2]) \
      ELEMENTWISE("vec_slo", V, uchar16, 16, (vec_uchar16)vec_slo(a.V, c.uchar16), i + (c.b[15] >> 3 & 15) < 16 ? a.b[i + (c.b[15] >> 3 & 15)] : 0) \
      ELEMENTWISE("vec_sro", V, uchar16, 16, (vec_uchar16)vec_sro(a.V, c.uint4), i - (c.b[15] >> 3 & 15) >= 0 ? a.b[i - (c.b[15] >> 3 & 15)] : 0) \
      ELEMENTWISE("vec_sll", V, uchar16, 16, (vec_uchar16)vec_sll(a.V, c.uchar16), (a.b[i] << 8 | (i < 15 ? a.b[i + 1] : 0)) >> (8 - (c.b[15] & 7))) \
      ELEMENTWISE("vec_srl", V, uchar16, 16, (vec_uchar16)vec_srl(a.V, c.uchar16), ((i ? a.b[i - 1] : 0) << 8 | a.b[i]) >> (c.b[15] & 7)) \
      memory_##V(); \
    } \
  }
/* Loads and stores of a buffer at all offsets, aligned or not. */
#define MEMORY(f, V, E, bits) \
  static void memory_##V(void) { \
    static union { unsigned char b[48]; E e[48 * 8 / bits]; vec_uchar16 v[3]; } m; \
    int k = number() % 17; \
    m.v[0] = a.uchar16, m.v[1] = b.uchar16, m.v[2] = a.uchar16; \
    ELEMENTWISE("vec_ld", V, uchar16, 16, (vec_uchar16)vec_ld(k, m.e), m.b[(k & 16) + i]) \
    ELEMENTWISE("vec_ld of a vector", V, uchar16, 16, (vec_uchar16)vec_ld(16, (vec_##V *)m.b), m.b[16 + i]) \
    ELEMENTWISE("vec_ld that is not aligned", V, uchar16, 16, \
                (vec_uchar16)vec_perm(vec_ld(k, m.e), vec_ld(k + 15, m.e), vec_lvsl(k, m.e)), m.b[k + i]) \
    ELEMENTWISE("vec_lvsr", V, uchar16, 16, vec_lvsr(k, m.e), 16 - (k & 15) + i) \
    ELEMENTWISE("vec_lvlx and vec_lvrx", V, uchar16, 16, (vec_uchar16)vec_or(vec_lvlx(k, m.e), vec_lvrx(k + 16, m.e)), m.b[k + i]) \
    ELEMENTWISE("vec_lde", V, V, 128 / bits, vec_lde(k & 15, m.e), i == (k & 15) / (bits / 8) ? m.e[i] : 0) \
    vec_st(b.V, k, m.e); \
    ELEMENTWISE("vec_st", V, uchar16, 16, *(vec_uchar16 *)(m.b + (k & 16)), b.b[i]) \
    vec_stvlx(a.V, k, m.e), vec_stvrx(a.V, k + 16, m.e); \
    ELEMENTWISE("vec_stvlx and vec_stvrx", V, uchar16, 16, ({ vec_uchar16 v; memcpy(&v, m.b + k, 16); v; }), a.b[i]) \
    m.v[0] = a.uchar16, vec_ste(b.V, k & 15, m.e); \
    ELEMENTWISE("vec_ste", V, V, 128 / bits, *(vec_##V *)m.b, i == (k & 15) / (bits / 8) ? B(V) : A(V)) \
  }
EACH_INT(MEMORY, )
MEMORY(, float4, float, 32)
EACH_INT(ALL, )
ALL(, float4, float, 32)

static void widths(void) {
  TIMES(200) {
    fill(&a), fill(&b), fill(&c);
    ELEMENTWISE("vec_pack", ushort8, uchar16, 16, vec_pack(a.ushort8, b.ushort8), i < 8 ? a.b[2 * i + 1] : b.b[2 * i - 15])
    ELEMENTWISE("vec_pack", int4, short8, 8, vec_pack(a.int4, b.int4), i < 4 ? a.e_short8[2 * i + 1] : b.e_short8[2 * i - 7])
#define PACKED(V, W, n, low, high) IN(i < n ? a.e_##V[i] : b.e_##V[i - n], low, high)
    ELEMENTWISE("vec_packs", short8, char16, 16, vec_packs(a.short8, b.short8), PACKED(short8, , 8, -128, 127))
    ELEMENTWISE("vec_packsu", short8, uchar16, 16, vec_packsu(a.short8, b.short8), PACKED(short8, , 8, 0, 255))
    ELEMENTWISE("vec_packs", ushort8, uchar16, 16, vec_packs(a.ushort8, b.ushort8), PACKED(ushort8, , 8, 0, 255))
    ELEMENTWISE("vec_packs", int4, short8, 8, vec_packs(a.int4, b.int4), PACKED(int4, , 4, -32768, 32767))
    ELEMENTWISE("vec_packsu", int4, ushort8, 8, vec_packsu(a.int4, b.int4), PACKED(int4, , 4, 0, 65535))
    ELEMENTWISE("vec_packsu", uint4, ushort8, 8, vec_packsu(a.uint4, b.uint4), PACKED(uint4, , 4, 0u, 65535u))
    ELEMENTWISE("vec_unpackh", char16, short8, 8, vec_unpackh(a.char16), a.e_char16[i])
    ELEMENTWISE("vec_unpackl", char16, short8, 8, vec_unpackl(a.char16), a.e_char16[8 + i])
    ELEMENTWISE("vec_unpackh", short8, int4, 4, vec_unpackh(a.short8), a.e_short8[i])
    ELEMENTWISE("vec_unpackl", short8, int4, 4, vec_unpackl(a.short8), a.e_short8[4 + i])
#define PRODUCT(R, V, n) \
    ELEMENTWISE("vec_mule", V, R, n, vec_mule(a.V, b.V), a.e_##V[2 * i] * b.e_##V[2 * i]) \
    ELEMENTWISE("vec_mulo", V, R, n, vec_mulo(a.V, b.V), a.e_##V[2 * i + 1] * b.e_##V[2 * i + 1])
    PRODUCT(ushort8, uchar16, 8)
    PRODUCT(short8, char16, 8)
    PRODUCT(uint4, ushort8, 4)
    PRODUCT(int4, short8, 4)
    ELEMENTWISE("vec_mladd", short8, short8, 8, vec_mladd(a.short8, b.short8, c.short8), A(short8) * B(short8) + C(short8))
    ELEMENTWISE("vec_madds", short8, short8, 8, vec_madds(a.short8, b.short8, c.short8),
                IN((A(short8) * B(short8) >> 15) + C(short8), -32768, 32767))
    ELEMENTWISE("vec_mradds", short8, short8, 8, vec_mradds(a.short8, b.short8, c.short8),
                IN(((A(short8) * B(short8) + 0x4000) >> 15) + C(short8), -32768, 32767))
    ELEMENTWISE("vec_msum", short8, int4, 4, vec_msum(a.short8, b.short8, c.int4),
                (int)((unsigned)(a.e_short8[2 * i] * b.e_short8[2 * i]) + (unsigned)(a.e_short8[2 * i + 1] * b.e_short8[2 * i + 1]) + c.e_uint4[i]))
    ELEMENTWISE("vec_msum", uchar16, uint4, 4, vec_msum(a.uchar16, b.uchar16, c.uint4),
                a.b[4 * i] * b.b[4 * i] + a.b[4 * i + 1] * b.b[4 * i + 1] + a.b[4 * i + 2] * b.b[4 * i + 2] + a.b[4 * i + 3] * b.b[4 * i + 3] + c.e_uint4[i])
    ELEMENTWISE("vec_msum", char16, int4, 4, vec_msum(a.char16, b.uchar16, c.int4),
                (int)((unsigned)(a.e_char16[4 * i] * b.b[4 * i] + a.e_char16[4 * i + 1] * b.b[4 * i + 1] + a.e_char16[4 * i + 2] * b.b[4 * i + 2] + a.e_char16[4 * i + 3] * b.b[4 * i + 3]) + c.e_uint4[i]))
    ELEMENTWISE("vec_msums", short8, int4, 4, vec_msums(a.short8, b.short8, c.int4),
                (int)IN((long long)a.e_short8[2 * i] * b.e_short8[2 * i] + (long long)a.e_short8[2 * i + 1] * b.e_short8[2 * i + 1] + c.e_int4[i], LOW_int4, HIGH_int4))
    ELEMENTWISE("vec_sum4s", uchar16, uint4, 4, vec_sum4s(a.uchar16, b.uint4),
                (unsigned)IN((long long)a.b[4 * i] + a.b[4 * i + 1] + a.b[4 * i + 2] + a.b[4 * i + 3] + b.e_uint4[i], 0, HIGH_uint4))
    ELEMENTWISE("vec_sum4s", short8, int4, 4, vec_sum4s(a.short8, b.int4),
                (int)IN((long long)a.e_short8[2 * i] + a.e_short8[2 * i + 1] + b.e_int4[i], LOW_int4, HIGH_int4))
    ELEMENTWISE("vec_sum4s", char16, int4, 4, vec_sum4s(a.char16, b.int4),
                (int)IN((long long)a.e_char16[4 * i] + a.e_char16[4 * i + 1] + a.e_char16[4 * i + 2] + a.e_char16[4 * i + 3] + b.e_int4[i], LOW_int4, HIGH_int4))
    ELEMENTWISE("vec_sum2s", int4, int4, 4, vec_sum2s(a.int4, b.int4),
                i % 2 ? (int)IN((long long)a.e_int4[i - 1] + a.e_int4[i] + b.e_int4[i], LOW_int4, HIGH_int4) : 0)
    ELEMENTWISE("vec_sums", int4, int4, 4, vec_sums(a.int4, b.int4),
                i == 3 ? (int)IN((long long)a.e_int4[0] + a.e_int4[1] + a.e_int4[2] + a.e_int4[3] + b.e_int4[3], LOW_int4, HIGH_int4) : 0)
    ELEMENTWISE("vec_addc", uint4, uint4, 4, vec_addc(a.uint4, b.uint4), ((unsigned long long)A(uint4) + B(uint4)) >> 32)
    ELEMENTWISE("vec_subc", uint4, uint4, 4, vec_subc(a.uint4, b.uint4), A(uint4) >= B(uint4))
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
    ELEMENTWISE("vec_abs", char16, char16, 16, vec_abs(a.char16), MAGNITUDE(A(char16)))
    ELEMENTWISE("vec_abs", short8, short8, 8, vec_abs(a.short8), MAGNITUDE(A(short8)))
    ELEMENTWISE("vec_abs", int4, int4, 4, vec_abs(a.int4), (int)(A(int4) < 0 ? -a.e_uint4[i] : a.e_uint4[i]))
    ELEMENTWISE("vec_abss", char16, char16, 16, vec_abss(a.char16), IN(MAGNITUDE(A(char16)), 0, 127))
    ELEMENTWISE("vec_abss", short8, short8, 8, vec_abss(a.short8), IN(MAGNITUDE(A(short8)), 0, 32767))
  }
}

static void floats(void) {
  TIMES(200) {
    int whole;
    reals(&a, 0), reals(&b, 0), reals(&c, 0);
    if (round_ == 0) a.float4 = (vec_float4){4e9f, -4e9f, 2147483648.0f, -0.5f};
    ELEMENTWISE("vec_add", float4, float4, 4, vec_add(a.float4, b.float4), A(float4) + B(float4))
    ELEMENTWISE("vec_sub", float4, float4, 4, vec_sub(a.float4, b.float4), A(float4) - B(float4))
    ELEMENTWISE("vec_max", float4, float4, 4, vec_max(a.float4, b.float4), A(float4) > B(float4) ? A(float4) : B(float4))
    ELEMENTWISE("vec_min", float4, float4, 4, vec_min(a.float4, b.float4), A(float4) < B(float4) ? A(float4) : B(float4))
    ELEMENTWISE("vec_abs", float4, uint4, 4, (vec_uint4)vec_abs(a.float4), a.e_uint4[i] & 0x7fffffff)
    ELEMENTWISE("vec_cts", float4, int4, 4, vec_cts(a.float4, 0), A(float4) >= 2147483648.0f ? 2147483647 : A(float4) < -2147483648.0f ? -2147483647 - 1 : (int)A(float4))
    reals(&a, 0);
    ELEMENTWISE("vec_madd", float4, float4, 4, vec_madd(a.float4, b.float4, c.float4), A(float4) * B(float4) + C(float4))
    ELEMENTWISE("vec_nmsub", float4, float4, 4, vec_nmsub(a.float4, b.float4, c.float4), C(float4) - A(float4) * B(float4))
    ELEMENTWISE("vec_trunc", float4, float4, 4, vec_trunc(a.float4), (whole = (int)A(float4), A(float4) < 0 && !whole ? -0.0f : (float)whole))
    ELEMENTWISE("vec_cts", float4, int4, 4, vec_cts(a.float4, 2), (int)(A(float4) * 4))
    ELEMENTWISE("vec_ctu", float4, uint4, 4, vec_ctu(a.float4, 2), A(float4) < 0 ? 0 : (unsigned)(A(float4) * 4))
    ELEMENTWISE("vec_re", float4, float4, 4, vec_re(a.float4), 1 / A(float4))
    fill(&a);
    ELEMENTWISE("vec_ctf", int4, float4, 4, vec_ctf(a.int4, 3), (float)A(int4) / 8)
    ELEMENTWISE("vec_ctf", uint4, float4, 4, vec_ctf(a.uint4, 0), (float)A(uint4))
  }
}

/* Pixels, masks as operands, elements of another type, and the names of instructions. */
static unsigned colours(unsigned short pixel) {
  return (pixel & 0x8000 ? 0xff000000u : 0) | (unsigned)(pixel >> 10 & 31) << 16 | (unsigned)(pixel >> 5 & 31) << 8 | (pixel & 31);
}
static unsigned short pixel(unsigned word) {
  return (unsigned short)((word >> 24 & 1) << 15 | (word >> 19 & 31) << 10 | (word >> 11 & 31) << 5 | (word >> 3 & 31));
}
static void rare(void) {
  TIMES(100) {
    static long words[4] __attribute__((aligned(16)));
    static char bytes[16] __attribute__((aligned(16)));
    vec_bint4 mask;
    vec_pixel8 pixels;
    fill(&a), fill(&b), fill(&c);
    pixels = vec_packpx(a.uint4, b.uint4);
    ELEMENTWISE("vec_packpx", uint4, ushort8, 8, (vec_ushort8)pixels, pixel(i < 4 ? a.e_uint4[i] : b.e_uint4[i - 4]))
    ELEMENTWISE("vec_unpackh of pixels", ushort8, uint4, 4, vec_unpackh((vec_pixel8)a.ushort8), colours(a.e_ushort8[i]))
    ELEMENTWISE("vec_unpackl of pixels", ushort8, uint4, 4, vec_unpackl((vec_pixel8)a.ushort8), colours(a.e_ushort8[i + 4]))
    ELEMENTWISE("vec_splat of pixels", ushort8, ushort8, 8, (vec_ushort8)vec_splat((vec_pixel8)a.ushort8, 3), a.e_ushort8[3])
    ELEMENTWISE("vec_mladd of both signs", ushort8, short8, 8, vec_mladd(a.ushort8, b.short8, c.short8), A(ushort8) * B(short8) + C(short8))
    ELEMENTWISE("vec_mladd of both signs", short8, short8, 8, vec_mladd(a.short8, b.ushort8, c.ushort8), A(short8) * B(ushort8) + C(ushort8))
    ELEMENTWISE("vec_insert of an int", uchar16, uchar16, 16, vec_insert(round_, a.uchar16, 5), i == 5 ? round_ : A(uchar16))
    ELEMENTWISE("vec_insert of an int", short8, short8, 8, vec_insert(-round_, a.short8, 11), i == 3 ? -round_ : A(short8))
    reals(&a, 0);
    ELEMENTWISE("vec_insert of an int", float4, float4, 4, vec_insert(round_, a.float4, 2), i == 2 ? round_ : A(float4))
    fill(&a);
    mask = vec_cmpgt(a.int4, b.int4);
    ELEMENTWISE("vec_add of a mask", int4, int4, 4, vec_add(c.int4, mask), (int)(c.e_uint4[i] - (A(int4) > B(int4))))
    ELEMENTWISE("vec_extract of a mask", int4, int4, 4, (vec_int4)vec_splats(vec_extract(mask, 2)), -(a.e_int4[2] > b.e_int4[2]))
    ELEMENTWISE("vec_cmpeq of masks", int4, int4, 4, (vec_int4)vec_cmpeq(mask, vec_cmpgt(b.int4, a.int4)), -(A(int4) == B(int4)))
    ELEMENTWISE("vec_all_eq of a mask", int4, int4, 4, (vec_int4)vec_splats(vec_all_eq((vec_int4)mask, mask)), 1)
    ELEMENTWISE("vec_any_ne of a mask", int4, int4, 4, (vec_int4)vec_splats(vec_any_ne(mask, (vec_uint4)mask)), 0)
    ELEMENTWISE("vec_vaddubm", uchar16, uchar16, 16, vec_vaddubm(a.uchar16, b.uchar16), A(uchar16) + B(uchar16))
    ELEMENTWISE("vec_vaddsws", int4, int4, 4, vec_vaddsws(a.int4, b.int4), (int)IN((long long)A(int4) + B(int4), LOW_int4, HIGH_int4))
    ELEMENTWISE("vec_vsrah", short8, short8, 8, vec_vsrah(a.short8, b.ushort8), A(short8) >> (B(ushort8) & 15))
    ELEMENTWISE("vec_vsldoi", uchar16, uchar16, 16, vec_vsldoi(a.uchar16, b.uchar16, 5), i < 11 ? a.b[i + 5] : b.b[i - 11])
    ELEMENTWISE("vec_vmulosh", short8, int4, 4, vec_vmulosh(a.short8, b.short8), a.e_short8[2 * i + 1] * b.e_short8[2 * i + 1])
    ELEMENTWISE("vec_vmulesh", short8, int4, 4, vec_vmulesh(a.short8, b.short8), a.e_short8[2 * i] * b.e_short8[2 * i])
    ELEMENTWISE("vec_vspltish", short8, short8, 8, vec_vspltish(-7), -7)
    ELEMENTWISE("vec_vpkshus", short8, uchar16, 16, vec_vpkshus(a.short8, b.short8), IN(i < 8 ? a.e_short8[i] : b.e_short8[i - 8], 0, 255))
    vec_st(a.int4, 0, words), vec_stvx((vec_uchar16)b.uchar16, 0, bytes);
    ELEMENTWISE("vec_lvx of long", int4, int4, 4, vec_lvx(0, words), A(int4))
    ELEMENTWISE("vec_ld of char", uchar16, uchar16, 16, vec_ld(0, bytes), B(uchar16))
    vec_stvebx(a.uchar16, 3, (unsigned char *)bytes);
    ELEMENTWISE("vec_stvebx", uchar16, uchar16, 16, vec_ld(0, bytes), i == 3 ? A(uchar16) : B(uchar16))
    vec_st(mask, 0, (unsigned *)words);
    ELEMENTWISE("vec_st of a mask", int4, int4, 4, vec_ld(0, words), -(A(int4) > B(int4)))
  }
}

#define RUN(f, V, E, bits) f##_##V();
int main(void) {
  EACH_INT(RUN, integers)
  EACH_INT(RUN, all)
  all_float4();
  widths();
  floats();
  rare();
  return failures != 0;
}
