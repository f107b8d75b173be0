/* A clock that counts the ticks of the decrementer upwards, and timers, by their published
 * names.
 *
 * No interrupt comes here. A program that measures more than one turn of the decrementer (54 s
 * of a PS3) reads the clock in between. The functions of timers are called by spu_clock_read, when
 * their time is over.
 */
#ifndef __SPU_TIMER_H__
#define __SPU_TIMER_H__

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPU_TIMER_NTIMERS 4
#define SPU_TIMER_MIN_INTERVAL 100
#define SPU_TIMER_ERR_INVALID_PARM (-2)
#define SPU_TIMER_ERR_INVALID_ID (-10)
#define SPU_TIMER_ERR_ACTIVE (-11)
#define SPU_TIMER_ERR_NOT_ACTIVE (-12)
#define SPU_TIMER_ERR_NOCLOCK (-13)
#define SPU_TIMER_ERR_FREE (-14)
#define SPU_TIMER_ERR_NOT_STOPPED (-15)
#define SPU_CLOCK_ERR_NOT_RUNNING (-2)
#define SPU_CLOCK_ERR_STILL_RUNNING (-3)
#define SPU_CLOCK_ERR_TIMERS_ACTIVE (-4)

/* Starts the clock at 0, if it does not run. Each start has its stop. */
extern void spu_clock_start(void);
/* 0 if this was the last stop, else one of SPU_CLOCK_ERR_... */
extern int spu_clock_stop(void);
/* The ticks since the start. */
extern uint64_t spu_clock_read(void);

/* A timer that calls `function` with its number each `interval` ticks: its number, or -1 if all
   are in use. */
extern int spu_timer_alloc(int interval, void (*function)(int id));
extern int spu_timer_start(int id);
extern int spu_timer_stop(int id);
extern int spu_timer_free(int id);

/* The ticks of the decrementer in a second: 79,800,000, as on a PS3. */
extern unsigned spu_timebase(void);

/* For programs that name a function for interrupts: it is not called. */
extern void spu_slih_register(unsigned mask, unsigned (*function)(unsigned events));
/* The function that such programs name for the decrementer. It returns the events but that of
   the decrementer. */
extern unsigned spu_clock_slih(unsigned events);

#ifdef __cplusplus
}
#endif

#endif
