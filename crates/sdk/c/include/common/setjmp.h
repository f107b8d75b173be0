/* Programs include this header also where they never jump. WebAssembly cannot, so the linker
 * names the object that does. */
#ifndef __SETJMP_H__
#define __SETJMP_H__

#ifdef __cplusplus
extern "C" {
#endif

typedef long jmp_buf[8];
typedef jmp_buf sigjmp_buf;

extern int setjmp(jmp_buf place);
extern void longjmp(jmp_buf place, int value) __attribute__((__noreturn__));
extern int sigsetjmp(sigjmp_buf place, int mask);
extern void siglongjmp(sigjmp_buf place, int value) __attribute__((__noreturn__));

#ifdef __cplusplus
}
#endif

#endif
