/* Where the registers of SPEs are in the memory of the PPU. */
#ifndef CELLWORKS_REGISTERS_H
#define CELLWORKS_REGISTERS_H

#include <stdint.h>

/* Says that registers are at the addresses from `at` up to `end`. */
void __cw_has_registers(uintptr_t at, uintptr_t end);

#endif
