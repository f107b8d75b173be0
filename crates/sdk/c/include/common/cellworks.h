/* Read before every C source of a Cell program (`-include cellworks.h`), of both sides.
 *
 * The front end is clang for PowerPC, whose own va_list is a structure of registers. The code
 * generator is that of wasm32, which passes the address of a block of arguments. So va_list is
 * that address here: each scalar or vector lies in the block at its own alignment (8 at least),
 * and a structure is passed by the address of a copy. This address is the only word of the block
 * in the byte order of wasm. As on an SPU, where each argument has a register of its own, an
 * argument that is read as a shorter type moves none of the others.
 */
#ifndef __CELLWORKS_H__
#define __CELLWORKS_H__

/* The bits of a pointer, which glibc's headers define. */
#define __WORDSIZE 32

#ifndef __ASSEMBLER__

#ifdef __cplusplus
extern "C" {
#endif
typedef char *__cw_va_list;
extern void __cw_va_start(__cw_va_list *list) __asm__("llvm.va_start.p0");
#ifdef __cplusplus
}
#endif

/* Headers of the C library use a type that C has since 2011. */
#ifndef __cplusplus
#define __need_max_align_t
#include <stddef.h>
#endif

#define __builtin_va_list __cw_va_list
#define __builtin_va_start(list, last) __cw_va_start(&(list))
#define __builtin_va_end(list) ((void)(list))
#define __builtin_va_copy(to, from) ((void)((to) = (from)))
#define __builtin_va_arg(list, type) \
  (*(__typeof__(type) *)( \
      (list) = (char *)((((unsigned)(list) + __cw_va_align(type) - 1) & -__cw_va_align(type)) + __cw_va_size(type)), \
      __cw_va_is_record(type) ? (char *)__builtin_bswap32(*(unsigned *)((list)-8)) : (list)-__cw_va_size(type)))

/* 12 is GCC's number of structures, and 13 that of unions. */
#define __cw_va_class(type) __builtin_classify_type(*(__typeof__(type) *)0)
#define __cw_va_is_record(type) (__cw_va_class(type) == 12 || __cw_va_class(type) == 13)
#define __cw_va_size(type) (__cw_va_is_record(type) ? 8u : ((unsigned)sizeof(type) + 7u) & ~7u)
#define __cw_va_align(type) (__cw_va_is_record(type) || __alignof__(type) < 8 ? 8u : (unsigned)__alignof__(type))

/* A function of a header that leaves no frame of its own: errors and traces name the line that
   calls it. */
#define __cw_inline static __inline__ __attribute__((__always_inline__, __nodebug__, __unused__))
#define __cw_overload static __inline__ __attribute__((__overloadable__, __always_inline__, __nodebug__, __unused__))

/* A qualifier of gcc for an SPU: what is in memory of the PPU (`spu_cache.h`). */
#ifdef __SPU__
#define __ea __attribute__((__address_space__(1)))
#define __EA32__ 1
#endif

#endif
#endif
