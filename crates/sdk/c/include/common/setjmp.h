/* Jumps out of functions: see lib/common/setjmp.c. */
#ifndef __SETJMP_H__
#define __SETJMP_H__

#ifdef __cplusplus
extern "C" {
#endif

typedef long jmp_buf[8];
typedef jmp_buf sigjmp_buf;

extern int setjmp(jmp_buf place) __attribute__((__returns_twice__));
extern void longjmp(jmp_buf place, int value) __attribute__((__noreturn__));

/* There are no signals whose mask could be restored. */
#define _setjmp(place) setjmp(place)
#define _longjmp(place, value) longjmp(place, value)
#define sigsetjmp(place, mask) ((void)(mask), setjmp(place))
#define siglongjmp(place, value) longjmp(place, value)

#ifdef __cplusplus
}
#endif

#endif
