/* Volatile words of 32 bits in the sources of a user: some are registers of an SPE, which the PPU
 * reaches at addresses in an area of `spe_ps_area_get`. `cellworks cc` makes each access to such a
 * word a call of one of these functions. */
#include "registers.h"

extern unsigned machine_load_register(volatile unsigned *at) __asm__("ppu.load_register");
extern int machine_store_register(volatile unsigned *at, unsigned word)
    __asm__("ppu.store_register");

/* The addresses from the first to the last register. Memory between them is reached by the machine,
 * too, which takes long. */
static uintptr_t first, bytes;

void __cw_has_registers(uintptr_t at, uintptr_t end) {
    uintptr_t before = first + bytes;
    if (bytes && first < at)
        at = first;
    if (before > end)
        end = before;
    first = at;
    bytes = end - at;
}

unsigned __cell_load_volatile(volatile unsigned *at) {
    if ((uintptr_t)at - first < bytes)
        return machine_load_register(at);
    return *at;
}

void __cell_store_volatile(volatile unsigned *at, unsigned word) {
    if ((uintptr_t)at - first < bytes)
        machine_store_register(at, word);
    else
        *at = word;
}
