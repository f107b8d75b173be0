/* AES with a key of 128 bits, by four tables of words (FIPS 197, s.5). */
#include "kernel.h"

#define BLOCKS 1024

static unsigned char box[256];
static unsigned tables[4][256], keys[44];
static unsigned char text[16 * BLOCKS];

static unsigned twice(unsigned byte) { return (byte << 1 ^ (byte >> 7) * 0x1b) & 255; }

/* The box from powers of 3 and their inverses. */
static void make_tables(void)
{
    unsigned power = 1, inverse = 1;

    do {
        unsigned turned;

        power ^= twice(power);
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        inverse &= 255;
        if (inverse & 128)
            inverse ^= 9;
        turned = inverse | inverse << 8;
        box[power] = inverse ^ turned >> 7 ^ turned >> 6 ^ turned >> 5 ^ turned >> 4 ^ 0x63;
    } while (power != 1);
    box[0] = 0x63;
    for (int at = 0; at < 256; at++) {
        unsigned byte = box[at], two = twice(byte);
        unsigned word = two << 24 | byte << 16 | byte << 8 | (two ^ byte);

        for (int table = 0; table < 4; table++)
            tables[table][at] = table ? word >> 8 * table | word << (32 - 8 * table) : word;
    }
}

static unsigned boxes(unsigned word)
{
    return (unsigned)box[word >> 24] << 24 | box[word >> 16 & 255] << 16 | box[word >> 8 & 255] << 8
        | box[word & 255];
}

static void make_keys(const unsigned *key)
{
    unsigned round = 1;

    for (int at = 0; at < 4; at++)
        keys[at] = key[at];
    for (int at = 4; at < 44; at++) {
        unsigned word = keys[at - 1];

        if (at % 4 == 0) {
            word = boxes(word << 8 | word >> 24) ^ round << 24;
            round = twice(round);
        }
        keys[at] = keys[at - 4] ^ word;
    }
}

static unsigned from_bytes(const unsigned char *bytes)
{
    return (unsigned)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void to_bytes(unsigned word, unsigned char *bytes)
{
    bytes[0] = word >> 24;
    bytes[1] = word >> 16;
    bytes[2] = word >> 8;
    bytes[3] = word;
}

static unsigned column(unsigned a, unsigned b, unsigned c, unsigned d, unsigned key)
{
    return tables[0][a >> 24] ^ tables[1][b >> 16 & 255] ^ tables[2][c >> 8 & 255]
        ^ tables[3][d & 255] ^ key;
}

static unsigned last(unsigned a, unsigned b, unsigned c, unsigned d, unsigned key)
{
    return ((unsigned)box[a >> 24] << 24 | box[b >> 16 & 255] << 16 | box[c >> 8 & 255] << 8
               | box[d & 255])
        ^ key;
}

static void encrypt(unsigned char *block)
{
    const unsigned *key = keys;
    unsigned a = from_bytes(block) ^ key[0], b = from_bytes(block + 4) ^ key[1];
    unsigned c = from_bytes(block + 8) ^ key[2], d = from_bytes(block + 12) ^ key[3];

    for (int round = 1; round < 10; round++) {
        unsigned w, x, y, z;

        key += 4;
        w = column(a, b, c, d, key[0]);
        x = column(b, c, d, a, key[1]);
        y = column(c, d, a, b, key[2]);
        z = column(d, a, b, c, key[3]);
        a = w;
        b = x;
        c = y;
        d = z;
    }
    key += 4;
    to_bytes(last(a, b, c, d, key[0]), block);
    to_bytes(last(b, c, d, a, key[1]), block + 4);
    to_bytes(last(c, d, a, b, key[2]), block + 8);
    to_bytes(last(d, a, b, c, key[3]), block + 12);
}

static void prepare(void)
{
    /* The key and the block of FIPS 197, appendix B. */
    static const unsigned key[4] = {0x2b7e1516, 0x28aed2a6, 0xabf71588, 0x09cf4f3c};
    static const unsigned block[4] = {0x3243f6a8, 0x885a308d, 0x313198a2, 0xe0370734};

    make_tables();
    make_keys(key);
    for (int at = 0; at < 4 * BLOCKS; at++)
        to_bytes(block[at % 4], text + 4 * at);
    encrypt(text);
    if (from_bytes(text) != 0x3925841d || from_bytes(text + 12) != 0x196a0b32)
        puts("this is not AES");
}

static unsigned work(void)
{
    unsigned sum = 0;

    for (int repeat = 0; repeat < 4; repeat++)
        for (int block = 0; block < BLOCKS; block++) {
            encrypt(text + 16 * block);
            sum = sum * 31 + from_bytes(text + 16 * block);
        }
    return sum;
}
