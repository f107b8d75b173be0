/* Read before every source of the C library. The front end is that of the PowerPC, so the builtin
 * functions of WebAssembly are declared by their names in LLVM. */
#ifndef __ASSEMBLER__

#include "turn.h"

extern unsigned long __cw_memory_size(int) __asm__("llvm.wasm.memory.size.i32");
extern float __cw_minf(float, float) __asm__("llvm.minimum.f32");
extern float __cw_maxf(float, float) __asm__("llvm.maximum.f32");
extern double __cw_min(double, double) __asm__("llvm.minimum.f64");
extern double __cw_max(double, double) __asm__("llvm.maximum.f64");

#define __builtin_wasm_memory_size(memory) __cw_memory_size(memory)
/* A program has all of its memory from the start. */
#define __builtin_wasm_memory_grow(memory, pages) ((unsigned long)-1)
#define __builtin_wasm_min_f32(x, y) __cw_minf(x, y)
#define __builtin_wasm_max_f32(x, y) __cw_maxf(x, y)
#define __builtin_wasm_min_f64(x, y) __cw_min(x, y)
#define __builtin_wasm_max_f64(x, y) __cw_max(x, y)

#endif
