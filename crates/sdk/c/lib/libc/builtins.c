/* What the code generator calls for numbers of 128 bits, which a product of 64 bits can need. */

typedef unsigned long long u64;

/* Numbers of 128 bits are passed and returned as two of 64 bits, the lower one first, and the
 * result lies in memory in the order of WebAssembly. */
void __multi3(u64 *result, u64 a_low, u64 a_high, u64 b_low, u64 b_high) {
  u64 low = (a_low & 0xffffffff) * (b_low & 0xffffffff);
  u64 middle = (a_low >> 32) * (b_low & 0xffffffff) + (low >> 32);
  u64 other = (a_low & 0xffffffff) * (b_low >> 32) + (middle & 0xffffffff);
  u64 high = (a_low >> 32) * (b_low >> 32) + (middle >> 32) + (other >> 32);
  low = other << 32 | (low & 0xffffffff);
  high += a_low * b_high + a_high * b_low;
  result[0] = __builtin_bswap64(low);
  result[1] = __builtin_bswap64(high);
}

/* The product of two numbers of 64 bits, the lower half first. */
static void product(u64 *result, u64 a, u64 b) {
  u64 low = (a & 0xffffffff) * (b & 0xffffffff);
  u64 middle = (a >> 32) * (b & 0xffffffff) + (low >> 32);
  u64 other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
  result[0] = other << 32 | (low & 0xffffffff);
  result[1] = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

/* A product of signed numbers of 128 bits, and whether it does not fit: what checks a product of
 * a signed and an unsigned number of 64 bits calls it. */
void __muloti4(u64 *result, u64 a_low, u64 a_high, u64 b_low, u64 b_high, int *overflow) {
  int negative = (long long)(a_high ^ b_high) < 0;
  u64 low[2], cross[2];
  if ((long long)a_high < 0) {
    a_low = -a_low;
    a_high = ~a_high + (a_low == 0);
  }
  if ((long long)b_high < 0) {
    b_low = -b_low;
    b_high = ~b_high + (b_low == 0);
  }
  product(low, a_low, b_low);
  product(cross, a_high ? a_high : b_high, a_high ? b_low : a_low);
  low[1] += cross[0];
  *overflow = (a_high && b_high) || cross[1] || low[1] < cross[0] ||
              (low[1] >> 63 && !(negative && low[1] << 1 == 0 && low[0] == 0));
  if (negative) {
    low[0] = -low[0];
    low[1] = ~low[1] + (low[0] == 0);
  }
  result[0] = __builtin_bswap64(low[0]);
  result[1] = __builtin_bswap64(low[1]);
}

/* Products and quotients of complex numbers. */
#define COMPLEX(type, product, quotient)                                                   \
  type _Complex product(type a, type b, type c, type d) {                                  \
    type _Complex z;                                                                       \
    __real__ z = a * c - b * d;                                                            \
    __imag__ z = a * d + b * c;                                                            \
    return z;                                                                              \
  }                                                                                        \
  type _Complex quotient(type a, type b, type c, type d) {                                 \
    type _Complex z;                                                                       \
    type ratio, denominator;                                                               \
    /* The larger part divides, so that nothing overflows on the way. */                  \
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {                                            \
      ratio = d / c;                                                                       \
      denominator = c + d * ratio;                                                         \
      __real__ z = (a + b * ratio) / denominator;                                          \
      __imag__ z = (b - a * ratio) / denominator;                                          \
    } else {                                                                               \
      ratio = c / d;                                                                       \
      denominator = c * ratio + d;                                                         \
      __real__ z = (a * ratio + b) / denominator;                                          \
      __imag__ z = (b * ratio - a) / denominator;                                          \
    }                                                                                      \
    return z;                                                                              \
  }

COMPLEX(float, __mulsc3, __divsc3)
COMPLEX(double, __muldc3, __divdc3)

/* A power by an integer, which __builtin_powi asks for. */
#define POWER(type, name)                                                                  \
  type name(type base, int exponent) {                                                     \
    unsigned left = exponent < 0 ? -(unsigned)exponent : (unsigned)exponent;               \
    type power = 1;                                                                        \
    for (; left; left >>= 1, base *= base)                                                 \
      if (left & 1) power *= base;                                                         \
    return exponent < 0 ? 1 / power : power;                                               \
  }

POWER(float, __powisf2)
POWER(double, __powidf2)
