/* A call of a function of any type, as on a Cell: what it does not take is left out, what it takes
 * and is not given is 0, and so is the result of one that returns nothing. */
#ifndef CELLWORKS_CALL_H
#define CELLWORKS_CALL_H

extern void *call_function(void *function, void *first, void *second) __asm__("ppu.call_function");
#define call(function, first, second) call_function((void *)(function), first, second)

#endif
