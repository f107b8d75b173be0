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

int main(void) {
    unsigned long long before = mftb(), between = __mftb(), after = mftb();
    asm volatile("or 31,31,31");
    printf("%d %d %d\n", before <= between, between <= after, high() == (unsigned)(mftb() >> 32));
    return 0;
}
