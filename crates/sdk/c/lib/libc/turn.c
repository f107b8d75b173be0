/* Whose turn it is: see turn.h. */
#include "turn.h"

struct __cw_turn __cw_turn;

/* The machine knows the names of these functions. */
_Noreturn void __cw_null_file(void) { __builtin_trap(); }
_Noreturn void __cw_wrong_free(void) { __builtin_trap(); }
_Noreturn void __cw_damaged_heap(void) { __builtin_trap(); }
