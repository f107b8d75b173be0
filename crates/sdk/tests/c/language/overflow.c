/* Products whose types differ in sign, which are checked with 128 bits. */
#include <stdio.h>

static void unsigned_of(long long a, int b)
{
    unsigned long long product;
    int is_over = __builtin_mul_overflow(a, b, &product);

    printf("%d %llu\n", is_over, product);
}

static void signed_of(long long a, unsigned long long b)
{
    long long product;
    int is_over = __builtin_mul_overflow(a, b, &product);

    printf("%d %lld\n", is_over, product);
}

int main(void)
{
    unsigned_of(3, 1000000000);
    unsigned_of(-3, 5);
    unsigned_of(-3, -5);
    unsigned_of(18446744073LL, 1000000000);
    unsigned_of(18446744074LL, 1000000000);
    signed_of(-4, 2305843009213693952ULL);
    signed_of(-5, 2305843009213693952ULL);
    signed_of(4, 2305843009213693952ULL);
    signed_of(-1, 9223372036854775808ULL);
    signed_of(1, 18446744073709551615ULL);
    signed_of(0, 18446744073709551615ULL);
    signed_of(-9223372036854775807LL - 1, 18446744073709551615ULL);
    return 0;
}
