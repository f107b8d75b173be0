/* The cache of memory of the PPU that pointers of `__ea` go through (`elsewhere.rs`). */
#include <spu_cache.h>
#include <spu_mfcio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 128
#define WAYS 4
#define SETS 128
#define TAG 31

typedef __ea void *ea_t;

static char data[SETS][WAYS][LINE] __attribute__((aligned(LINE)));
static struct line {
    uint32_t ea; /* 0 is no line: the PPU has none there */
    uint32_t written[LINE / 32]; /* a bit for each byte, the first one on the left */
} lines[SETS][WAYS];
static unsigned char next[SETS];

static void move(char *local, uint32_t ea, unsigned command) {
    unsigned mask = mfc_read_tag_mask();
    spu_mfcdma32(local, ea, LINE, TAG, command);
    mfc_write_tag_mask(1u << TAG);
    mfc_read_tag_status_all();
    mfc_write_tag_mask(mask);
}

/* Writes the bytes that the program has written: others may have written those beside them. */
static void clean(unsigned set, unsigned way) {
    struct line *line = &lines[set][way];
    char *local = data[set][way];
    uint32_t any = 0, all = ~0u;
    for (unsigned i = 0; i < LINE / 32; i++)
        any |= line->written[i], all &= line->written[i];
    if (all == ~0u) {
        move(local, line->ea, MFC_PUT_CMD);
    } else if (any) {
        static char there[LINE] __attribute__((aligned(LINE)));
        do {
            mfc_getllar(there, line->ea, 0, 0);
            mfc_read_atomic_status();
            for (unsigned i = 0; i < LINE; i++)
                if (line->written[i / 32] & 0x80000000u >> i % 32)
                    there[i] = local[i];
            mfc_putllc(there, line->ea, 0, 0);
        } while (mfc_read_atomic_status() & MFC_PUTLLC_STATUS);
    }
    memset(line->written, 0, sizeof line->written);
}

/* Returns the line of `ea`, which it gets if it must; of no line if it is not there and need not
 * be. */
static struct line *find(uint32_t ea, int must_be_there) {
    uint32_t start = ea & -LINE;
    unsigned set = ea / LINE % SETS, way;
    for (way = 0; way < WAYS; way++)
        if (start && lines[set][way].ea == start)
            return &lines[set][way];
    if (!must_be_there)
        return NULL;
    way = next[set]++ % WAYS;
    clean(set, way);
    lines[set][way].ea = 0;
    move(data[set][way], start, MFC_GET_CMD);
    lines[set][way].ea = start;
    return &lines[set][way];
}

static char *local_of(struct line *line, uint32_t ea) {
    return data[0][0] + (line - lines[0]) * LINE + ea % LINE;
}

void *__cache_fetch(ea_t ea) { return local_of(find((uint32_t)ea, 1), (uint32_t)ea); }

void *__cache_fetch_dirty(ea_t ea, int bytes) {
    struct line *line = find((uint32_t)ea, 1);
    unsigned first = (uint32_t)ea % LINE;
    for (unsigned i = first; i < first + bytes && i < LINE; i++)
        line->written[i / 32] |= 0x80000000u >> i % 32;
    return local_of(line, (uint32_t)ea);
}

void __cache_touch(ea_t ea) { find((uint32_t)ea, 1); }

void __cache_evict(ea_t ea) {
    struct line *line = find((uint32_t)ea, 0);
    if (line) {
        clean((line - lines[0]) / WAYS, (line - lines[0]) % WAYS);
        line->ea = 0;
    }
}

void __cache_flush(void) {
    for (unsigned set = 0; set < SETS; set++)
        for (unsigned way = 0; way < WAYS; way++) {
            clean(set, way);
            lines[set][way].ea = 0;
        }
}

/* What the compiler calls before an access. */

static void within_line(uint32_t ea, unsigned bytes) {
    if (ea % LINE + bytes > LINE) {
        fprintf(stderr,
                "error: an access of %u bytes at %#x, by a pointer of __ea, is not aligned, and it crosses a line of "
                "the cache; copy the bytes by memcpy_ea\n",
                bytes, (unsigned)ea);
        abort();
    }
}

void *__cell_fetch(ea_t ea, unsigned bytes) {
    within_line((uint32_t)ea, bytes);
    return __cache_fetch(ea);
}

void *__cell_fetch_dirty(ea_t ea, unsigned bytes) {
    within_line((uint32_t)ea, bytes);
    return __cache_fetch_dirty(ea, bytes);
}

/* The bytes from `ea` on that are in its line, and no more than `bytes`. */
static unsigned piece(uint32_t ea, unsigned bytes) {
    unsigned rest = LINE - ea % LINE;
    return bytes < rest ? bytes : rest;
}

void __cell_copy_from_ea(void *to, ea_t from, unsigned bytes, int is_volatile) {
    (void)is_volatile;
    for (unsigned at = 0, some; at < bytes; at += some) {
        uint32_t ea = (uint32_t)from + at;
        some = piece(ea, bytes - at);
        memcpy((char *)to + at, __cache_fetch((ea_t)ea), some);
    }
}

void __cell_copy_to_ea(ea_t to, const void *from, unsigned bytes, int is_volatile) {
    (void)is_volatile;
    for (unsigned at = 0, some; at < bytes; at += some) {
        uint32_t ea = (uint32_t)to + at;
        some = piece(ea, bytes - at);
        memcpy(__cache_fetch_dirty((ea_t)ea, some), (const char *)from + at, some);
    }
}

void __cell_copy_within_ea(ea_t to, ea_t from, unsigned bytes, int is_volatile) {
    char kept[LINE];
    for (unsigned at = 0, some; at < bytes; at += some) {
        some = bytes - at < LINE ? bytes - at : LINE;
        __cell_copy_from_ea(kept, (ea_t)((uint32_t)from + at), some, is_volatile);
        __cell_copy_to_ea((ea_t)((uint32_t)to + at), kept, some, is_volatile);
    }
}

void __cell_set_ea(ea_t to, int byte, unsigned bytes, int is_volatile) {
    char kept[LINE];
    memset(kept, byte, LINE);
    for (unsigned at = 0, some; at < bytes; at += some) {
        some = bytes - at < LINE ? bytes - at : LINE;
        __cell_copy_to_ea((ea_t)((uint32_t)to + at), kept, some, is_volatile);
    }
}
