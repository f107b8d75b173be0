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

#define _setjmp(place) setjmp(place)
#define _longjmp(place, value) longjmp(place, value)

/* Keeps the mask of signals in a place, if it is to be restored. */
extern void __cw_keep_mask(sigjmp_buf place, int is_kept);
#define sigsetjmp(place, mask) (__cw_keep_mask(place, mask), setjmp(place))
extern void siglongjmp(sigjmp_buf place, int value) __attribute__((__noreturn__));

#ifdef __cplusplus
}
#endif

#endif
