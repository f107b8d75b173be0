/* The specific intrinsics: one for each instruction, over quadwords. */
#include <spu_intrinsics.h>
#include "check.h"

static quad a_, b_, c_; /* as quadwords */
#define QA ((qword)a.uchar16)
#define QB ((qword)b.uchar16)
#define QC ((qword)c.uchar16)
#define SI(name, R, n, value, ...) \
  for (i = 0; i < n; i++) want.e_##R[i] = value; \
  got.uchar16 = (vec_uchar16)si_##name(__VA_ARGS__); \
  check("si_" #name, #R);
#define W(q) q.e_uint4[i]
#define SW(q) q.e_int4[i]
#define H(q) q.e_ushort8[i]
#define SH(q) q.e_short8[i]
#define BY(q) q.b[i]
#define SB(q) q.e_char16[i]

static void integers(void) {
  SI(a, uint4, 4, W(a) + W(b), QA, QB)
  SI(ai, uint4, 4, W(a) - 9, QA, -9)
  SI(ah, ushort8, 8, H(a) + H(b), QA, QB)
  SI(ahi, ushort8, 8, H(a) + 9, QA, 9)
  SI(sf, uint4, 4, W(b) - W(a), QA, QB)
  SI(sfi, uint4, 4, 9 - W(a), QA, 9)
  SI(sfh, ushort8, 8, H(b) - H(a), QA, QB)
  SI(sfhi, ushort8, 8, -9 - H(a), QA, -9)
  SI(addx, uint4, 4, W(a) + W(b) + (W(c) & 1), QA, QB, QC)
  SI(sfx, uint4, 4, W(b) - W(a) - !(W(c) & 1), QA, QB, QC)
  SI(cg, uint4, 4, ((unsigned long long)W(a) + W(b)) >> 32, QA, QB)
  SI(bg, uint4, 4, W(b) >= W(a), QA, QB)
  SI(cgx, uint4, 4, ((unsigned long long)W(a) + W(b) + (W(c) & 1)) >> 32, QA, QB, QC)
  SI(bgx, uint4, 4, W(c) & 1 ? W(b) >= W(a) : W(b) > W(a), QA, QB, QC)
#define ODD(q) q.e_short8[2 * i + 1]
#define EVEN(q) q.e_short8[2 * i]
#define ODDU(q) (unsigned)q.e_ushort8[2 * i + 1]
#define EVENU(q) (unsigned)q.e_ushort8[2 * i]
  SI(mpy, int4, 4, ODD(a) * ODD(b), QA, QB)
  SI(mpyi, int4, 4, ODD(a) * -7, QA, -7)
  SI(mpyu, uint4, 4, ODDU(a) * ODDU(b), QA, QB)
  SI(mpyui, uint4, 4, ODDU(a) * 300, QA, 300)
  SI(mpyh, uint4, 4, (unsigned)(EVEN(a) * ODD(b)) << 16, QA, QB)
  SI(mpys, int4, 4, ODD(a) * ODD(b) >> 16, QA, QB)
  SI(mpyhh, int4, 4, EVEN(a) * EVEN(b), QA, QB)
  SI(mpyhhu, uint4, 4, EVENU(a) * EVENU(b), QA, QB)
  SI(mpya, uint4, 4, (unsigned)(ODD(a) * ODD(b)) + W(c), QA, QB, QC)
  SI(mpyhha, uint4, 4, (unsigned)(EVEN(a) * EVEN(b)) + W(c), QA, QB, QC)
  SI(mpyhhau, uint4, 4, EVENU(a) * EVENU(b) + W(c), QA, QB, QC)
  SI(clz, uint4, 4, W(a) ? __builtin_clz(W(a)) : 32, QA)
  SI(cntb, uchar16, 16, __builtin_popcount(BY(a)), QA)
  SI(avgb, uchar16, 16, (BY(a) + BY(b) + 1) / 2, QA, QB)
  SI(absdb, uchar16, 16, BY(a) > BY(b) ? BY(a) - BY(b) : BY(b) - BY(a), QA, QB)
  SI(sumb, ushort8, 8, i % 2 ? a.b[2 * i - 2] + a.b[2 * i - 1] + a.b[2 * i] + a.b[2 * i + 1]
                            : b.b[2 * i] + b.b[2 * i + 1] + b.b[2 * i + 2] + b.b[2 * i + 3], QA, QB)
  SI(xsbh, short8, 8, a.e_char16[2 * i + 1], QA)
  SI(xshw, int4, 4, a.e_short8[2 * i + 1], QA)
  SI(xswd, llong2, 2, a.e_int4[2 * i + 1], QA)
}

static unsigned char shuffled(unsigned p) {
  return p >= 0xe0 ? 0x80 : p >= 0xc0 ? 0xff : p >= 0x80 ? 0 : p & 16 ? b.b[p & 15] : a.b[p & 15];
}

static void bits(void) {
  SI(and, uint4, 4, W(a) & W(b), QA, QB)
  SI(andc, uint4, 4, W(a) & ~W(b), QA, QB)
  SI(or, uint4, 4, W(a) | W(b), QA, QB)
  SI(orc, uint4, 4, W(a) | ~W(b), QA, QB)
  SI(xor, uint4, 4, W(a) ^ W(b), QA, QB)
  SI(nand, uint4, 4, ~(W(a) & W(b)), QA, QB)
  SI(nor, uint4, 4, ~(W(a) | W(b)), QA, QB)
  SI(eqv, uint4, 4, ~(W(a) ^ W(b)), QA, QB)
  SI(selb, uint4, 4, (W(a) & ~W(c)) | (W(b) & W(c)), QA, QB, QC)
  SI(shufb, uchar16, 16, shuffled(BY(c)), QA, QB, QC)
  SI(orx, uint4, 4, i ? 0 : a.e_uint4[0] | a.e_uint4[1] | a.e_uint4[2] | a.e_uint4[3], QA)
  SI(andi, uint4, 4, W(a) & -8u, QA, -8)
  SI(andhi, ushort8, 8, H(a) & 0x1ff, QA, 0x1ff)
  SI(andbi, uchar16, 16, BY(a) & 0x3c, QA, 0x3c)
  SI(ori, uint4, 4, W(a) | 0x101, QA, 0x101)
  SI(orhi, ushort8, 8, H(a) | 0x101, QA, 0x101)
  SI(orbi, uchar16, 16, BY(a) | 0x81, QA, 0x81)
  SI(xori, uint4, 4, ~W(a), QA, -1)
  SI(xorhi, ushort8, 8, H(a) ^ 0x101, QA, 0x101)
  SI(xorbi, uchar16, 16, BY(a) ^ 0x81, QA, 0x81)
  SI(il, int4, 4, -30000, -30000)
  SI(ila, int4, 4, 0x3ffff, 0x3ffff)
  SI(ilh, short8, 8, -2, -2)
  SI(ilhu, uint4, 4, 0x80010000, 0x8001)
  SI(iohl, uint4, 4, W(a) | 0x8001, QA, 0x8001)
  SI(fsmbi, uchar16, 16, 0x8421 >> (15 - i) & 1 ? 255 : 0, 0x8421)
  SI(fsmb, uchar16, 16, a.e_uint4[0] >> (15 - i) & 1 ? 255 : 0, QA)
  SI(fsmh, short8, 8, a.e_uint4[0] >> (7 - i) & 1 ? -1 : 0, QA)
  SI(fsm, int4, 4, a.e_uint4[0] >> (3 - i) & 1 ? -1 : 0, QA)
  SI(gb, uint4, 4, i ? 0 : (a.b[3] & 1) * 8 + (a.b[7] & 1) * 4 + (a.b[11] & 1) * 2 + (a.b[15] & 1), QA)
  SI(gbh, uint4, 4, i ? 0 : (a.b[1] & 1) * 128 + (a.b[3] & 1) * 64 + (a.b[5] & 1) * 32 + (a.b[7] & 1) * 16 +
                            (a.b[9] & 1) * 8 + (a.b[11] & 1) * 4 + (a.b[13] & 1) * 2 + (a.b[15] & 1), QA)
  {
    unsigned all = 0;
    for (i = 0; i < 16; i++) all = all << 1 | (a.b[i] & 1);
    SI(gbb, uint4, 4, i ? 0 : all, QA)
  }
}

static int sign_shift(int x, int n) { return x >> (n > 31 ? 31 : n); }

static void shifts(void) {
  int n = number() % 100 - 50;
  SI(shl, uint4, 4, W(b) & 32 ? 0 : W(a) << (W(b) & 31), QA, QB)
  SI(shli, uint4, 4, W(a) << 3, QA, 3)
  SI(shlh, ushort8, 8, H(b) & 16 ? 0 : H(a) << (H(b) & 15), QA, QB)
  SI(shlhi, ushort8, 8, H(a) << 3, QA, 3)
  SI(rot, uint4, 4, W(a) << (W(b) & 31) | (W(b) & 31 ? W(a) >> (32 - (W(b) & 31)) : 0), QA, QB)
  SI(roti, uint4, 4, W(a) << 3 | W(a) >> 29, QA, 3)
  SI(roth, ushort8, 8, H(a) << (H(b) & 15) | H(a) >> (16 - (H(b) & 15)), QA, QB)
  SI(rothi, ushort8, 8, H(a) << 3 | H(a) >> 13, QA, 3)
  SI(rotm, uint4, 4, -W(b) & 32 ? 0 : W(a) >> (-W(b) & 31), QA, QB)
  SI(rotmi, uint4, 4, W(a) >> 3, QA, -3)
  SI(rothm, ushort8, 8, -H(b) & 16 ? 0 : H(a) >> (-H(b) & 15), QA, QB)
  SI(rothmi, ushort8, 8, H(a) >> 3, QA, -3)
  SI(rotma, int4, 4, sign_shift(SW(a), -W(b) & 63), QA, QB)
  SI(rotmai, int4, 4, SW(a) >> 3, QA, -3)
  SI(rotmah, short8, 8, sign_shift(SH(a), -H(b) & 31), QA, QB)
  SI(rotmahi, short8, 8, SH(a) >> 3, QA, -3)
#define BYTE(k) ((k) < 0 || (k) > 15 ? 0 : a.b[k])
  b.e_int4[0] = n;
  SI(shlqby, uchar16, 16, BYTE(i + (n & 31)), QA, QB)
  SI(shlqbyi, uchar16, 16, BYTE(i + 5), QA, 5)
  SI(shlqbybi, uchar16, 16, BYTE(i + (n >> 3 & 31)), QA, QB)
  SI(rotqby, uchar16, 16, BYTE((i + n) & 15), QA, QB)
  SI(rotqbyi, uchar16, 16, BYTE((i + 5) & 15), QA, 5)
  SI(rotqbybi, uchar16, 16, BYTE((i + (n >> 3)) & 15), QA, QB)
  SI(rotqmby, uchar16, 16, BYTE(i - (-n & 31)), QA, QB)
  SI(rotqmbyi, uchar16, 16, BYTE(i - 5), QA, -5)
  SI(rotqmbybi, uchar16, 16, BYTE(i - (-(n >> 3) & 31)), QA, QB)
  SI(shlqbi, uchar16, 16, (BYTE(i) << 8 | BYTE(i + 1)) >> (8 - (n & 7)), QA, QB)
  SI(shlqbii, uchar16, 16, (BYTE(i) << 8 | BYTE(i + 1)) >> 5, QA, 3)
  SI(rotqbi, uchar16, 16, (BYTE(i) << 8 | BYTE((i + 1) & 15)) >> (8 - (n & 7)), QA, QB)
  SI(rotqbii, uchar16, 16, (BYTE(i) << 8 | BYTE((i + 1) & 15)) >> 5, QA, 3)
  SI(rotqmbi, uchar16, 16, (BYTE(i - 1) << 8 | BYTE(i)) >> (-n & 7), QA, QB)
  SI(rotqmbii, uchar16, 16, (BYTE(i - 1) << 8 | BYTE(i)) >> 3, QA, -3)
}

static void comparisons(void) {
  for (i = 0; i < 16; i += 4)
    if (number() & 1) b.e_uint4[i / 4] = a.e_uint4[i / 4];
  SI(ceqb, char16, 16, -(BY(a) == BY(b)), QA, QB)
  SI(ceqbi, char16, 16, -(BY(a) == 255), QA, -1)
  SI(ceqh, short8, 8, -(H(a) == H(b)), QA, QB)
  SI(ceqhi, short8, 8, -(SH(a) == -1), QA, -1)
  SI(ceq, int4, 4, -(W(a) == W(b)), QA, QB)
  SI(ceqi, int4, 4, -(SW(a) == -1), QA, -1)
  SI(cgtb, char16, 16, -(SB(a) > SB(b)), QA, QB)
  SI(cgtbi, char16, 16, -(SB(a) > -5), QA, -5)
  SI(cgth, short8, 8, -(SH(a) > SH(b)), QA, QB)
  SI(cgthi, short8, 8, -(SH(a) > -5), QA, -5)
  SI(cgt, int4, 4, -(SW(a) > SW(b)), QA, QB)
  SI(cgti, int4, 4, -(SW(a) > -5), QA, -5)
  SI(clgtb, char16, 16, -(BY(a) > BY(b)), QA, QB)
  SI(clgtbi, char16, 16, -(BY(a) > 251), QA, -5)
  SI(clgth, short8, 8, -(H(a) > H(b)), QA, QB)
  SI(clgthi, short8, 8, -(H(a) > 0xfffb), QA, -5)
  SI(clgt, int4, 4, -(W(a) > W(b)), QA, QB)
  SI(clgti, int4, 4, -(W(a) > -5u), QA, -5)
}

#define F(q) q.e_float4[i]
#define D(q) q.e_double2[i]
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
static void floats(void) {
  reals(&a, 0), reals(&b, 0), reals(&c, 0);
  if (number() & 1) b.e_float4[0] = a.e_float4[0], b.e_float4[1] = -a.e_float4[1];
  SI(fa, float4, 4, F(a) + F(b), QA, QB)
  SI(fs, float4, 4, F(a) - F(b), QA, QB)
  SI(fm, float4, 4, F(a) * F(b), QA, QB)
  SI(fma, float4, 4, F(a) * F(b) + F(c), QA, QB, QC)
  SI(fms, float4, 4, F(a) * F(b) - F(c), QA, QB, QC)
  SI(fnms, float4, 4, F(c) - F(a) * F(b), QA, QB, QC)
  SI(fceq, int4, 4, -(F(a) == F(b)), QA, QB)
  SI(fcgt, int4, 4, -(F(a) > F(b)), QA, QB)
  SI(fcmeq, int4, 4, -(MAGNITUDE(F(a)) == MAGNITUDE(F(b))), QA, QB)
  SI(fcmgt, int4, 4, -(MAGNITUDE(F(a)) > MAGNITUDE(F(b))), QA, QB)
  SI(frest, float4, 4, F(a) == 0 ? 3.40282347e38f : 1 / F(a), QA)
  SI(fi, float4, 4, F(b), QA, QB)
  SI(csflt, float4, 4, (float)SW(a) / 16, QA, 4)
  SI(cuflt, float4, 4, (float)W(a) / 16, QA, 4)
  SI(cflts, int4, 4, (int)(F(a) * 16), QA, 4)
  SI(cfltu, uint4, 4, F(a) < 0 ? 0 : (unsigned)(F(a) * 16), QA, 4)
  SI(fesd, double2, 2, a.e_float4[2 * i], QA)
  reals(&a, 1), reals(&b, 1), reals(&c, 1);
  SI(dfa, double2, 2, D(a) + D(b), QA, QB)
  SI(dfs, double2, 2, D(a) - D(b), QA, QB)
  SI(dfm, double2, 2, D(a) * D(b), QA, QB)
  SI(dfma, double2, 2, D(a) * D(b) + D(c), QA, QB, QC)
  SI(dfms, double2, 2, D(a) * D(b) - D(c), QA, QB, QC)
  SI(dfnms, double2, 2, D(c) - D(a) * D(b), QA, QB, QC)
  SI(dfnma, double2, 2, -(D(a) * D(b) + D(c)), QA, QB, QC)
  SI(frds, float4, 4, i % 2 ? 0 : (float)a.e_double2[i / 2], QA)
}

/* Scalars go to the preferred slot, and come from it. */
#define SCALAR(name, E, R, at) \
  { \
    E s = a.e_##R[at]; \
    got.uchar16 = (vec_uchar16)si_from_##name(s); \
    memset(&want, 0, 16), want.e_##R[at] = s; \
    check("si_from_" #name, #R); \
    want = got = a, got.e_##R[at] = si_to_##name(QA); \
    check("si_to_" #name, #R); \
  }
static void scalars(void) {
  static quad line[2];
  int n = number() & 15;
  SCALAR(char, signed char, char16, 3)
  SCALAR(uchar, unsigned char, uchar16, 3)
  SCALAR(short, short, short8, 1)
  SCALAR(ushort, unsigned short, ushort8, 1)
  SCALAR(int, int, int4, 0)
  SCALAR(uint, unsigned, uint4, 0)
  SCALAR(llong, long long, llong2, 0)
  SCALAR(ullong, unsigned long long, ullong2, 0)
  reals(&a, 0);
  SCALAR(float, float, float4, 0)
  reals(&a, 1);
  SCALAR(double, double, double2, 0)
  want = got = a, got.e_uint4[0] = si_to_ptr(si_from_ptr(&a)) == (void *)&a ? a.e_uint4[0] : ~a.e_uint4[0];
  check("si_from_ptr and si_to_ptr", "uint4");

  /* A scalar goes into a quadword of memory by a pattern of its address. */
  memset(&c, 0, 16), c.b[3] = n;
#define INSERT(letter, bytes, from) \
  want = b, memcpy(&want.b[n & (16 - bytes)], &a.b[from], bytes); \
  got.uchar16 = (vec_uchar16)si_shufb(QA, QB, si_c##letter##d(QC, 16)); \
  check("si_c" #letter "d", "uchar16"); \
  got.uchar16 = (vec_uchar16)si_shufb(QA, QB, si_c##letter##x(QC, si_from_int(32))); \
  check("si_c" #letter "x", "uchar16");
  INSERT(b, 1, 3)
  INSERT(h, 2, 2)
  INSERT(w, 4, 0)
  INSERT(d, 8, 0)

  si_stqd(QA, si_from_ptr(line), 16), si_stqx(QB, si_from_ptr(line), si_from_int(0));
  got = line[1], want = a, check("si_stqd", "uchar16");
  got = line[0], want = b, check("si_stqx", "uchar16");
  got.uchar16 = (vec_uchar16)si_lqd(si_from_ptr(line), 16), want = a, check("si_lqd", "uchar16");
  got.uchar16 = (vec_uchar16)si_lqx(si_from_ptr(line), si_from_int(5)), want = b, check("si_lqx", "uchar16");
  got.uchar16 = (vec_uchar16)si_lqa((int)line), check("si_lqa", "uchar16");
}

int main(void) {
  TIMES(200) {
    fill(&a), fill(&b), fill(&c), a_ = a, b_ = b, c_ = c;
    integers(), bits(), shifts();
    a = a_, b = b_;
    comparisons();
    scalars();
    floats();
  }
  return failures != 0;
}
