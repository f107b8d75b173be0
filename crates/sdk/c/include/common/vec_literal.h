/* Vectors as expressions for several compilers, by their published names. */
#ifndef __VEC_LITERAL_H__
#define __VEC_LITERAL_H__

#define VEC_LITERAL(type, ...) ((type){__VA_ARGS__})

#define VEC_SPLAT_U8(n) ((__vector unsigned char)((unsigned char)(n)))
#define VEC_SPLAT_S8(n) ((__vector signed char)((signed char)(n)))
#define VEC_SPLAT_U16(n) ((__vector unsigned short)((unsigned short)(n)))
#define VEC_SPLAT_S16(n) ((__vector signed short)((signed short)(n)))
#define VEC_SPLAT_U32(n) ((__vector unsigned int)((unsigned)(n)))
#define VEC_SPLAT_S32(n) ((__vector signed int)((int)(n)))
#define VEC_SPLAT_F32(n) ((__vector float)((float)(n)))
#define VEC_SPLAT_U64(n) ((__vector unsigned long long)((unsigned long long)(n)))
#define VEC_SPLAT_S64(n) ((__vector signed long long)((long long)(n)))
#define VEC_SPLAT_F64(n) ((__vector double)((double)(n)))

#endif
