/* The time base of the PPU by the assembler of old programs. */
#include <ppu_intrinsics.h>
#include <stdio.h>

static inline unsigned long long mftb(void) {
    unsigned long long ticks;
    asm volatile("mftb %0" : "=r"(ticks));
    return ticks;
}

static inline unsigned int high(void) {
    unsigned int word;
    __asm__ __volatile__("mftbu %0" : "=r"(word)::"memory");
    return word;
}

/* Both words, until the high one stays the same. */
static unsigned long long both(void) {
    unsigned int high, low, again;
    __asm__ __volatile__("1: mftbu %0\n\tmftb %1\n\tmftbu %2\n\tcmpw %0,%2\n\tbne- 1b"
                         : "=r"(high), "=r"(low), "=r"(again));
    return (unsigned long long)high << 32 | low;
}

static char line[256] __attribute__((aligned(128)));

/* Hints change nothing, and dcbz clears the line of 128 bytes. */
static void clear(char *from) {
    asm volatile("dcbt 0,%0" : : "r"(from));
    asm volatile("dcbz 0,%0" : : "r"(from + 5) : "memory");
}

int main(void) {
    unsigned long long before = mftb(), between = __mftb(), after = mftb();
    asm volatile("or 31,31,31");
    printf("%d %d %d\n", before <= between, between <= after, high() == (unsigned)(mftb() >> 32));
    before = both();
    line[0] = line[127] = line[128] = 7;
    clear(line);
    printf("%d %d %d %d\n", before <= __mftb(), line[0], line[127], line[128]);
    return 0;
}
