/* The turns of the PPU's threads, which all use one C library. While `held` is not 0, the thread
 * that runs keeps its turn, so no other thread finds the library in the middle of a change. The
 * machine gives each thread a copy of its own. An SPU has one thread, and nothing looks at it. */
#ifndef CELLWORKS_TURN_H
#define CELLWORKS_TURN_H

struct __cw_turn {
  volatile unsigned held;
  /* What pthread.c knows of the thread. */
  void *thread;
};
extern struct __cw_turn __cw_turn;

/* Ends the program, which gave a null pointer to a function of files. */
_Noreturn void __cw_null_file(void);

/* End the program, which gave free an address that is not one of malloc, or wrote where malloc
 * keeps its lists. */
_Noreturn void __cw_wrong_free(void);
_Noreturn void __cw_damaged_heap(void);

#define __cw_hold() ((void)++__cw_turn.held)
#define __cw_release() ((void)--__cw_turn.held)

/* The value of an expression that is computed in one turn. */
#define __cw_held(expression)                 \
  ({                                          \
    __cw_hold();                              \
    __typeof__(expression) __v = (expression); \
    __cw_release();                           \
    __v;                                      \
  })

#endif
