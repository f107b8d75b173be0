/* The vector types by their names of one word, for both sides. */
#ifndef __VEC_TYPES_H__
#define __VEC_TYPES_H__

typedef __vector unsigned char vec_uchar16;
typedef __vector signed char vec_char16;
typedef __vector unsigned short vec_ushort8;
typedef __vector signed short vec_short8;
typedef __vector unsigned int vec_uint4;
typedef __vector signed int vec_int4;
typedef __vector unsigned long long vec_ullong2;
typedef __vector signed long long vec_llong2;
typedef __vector float vec_float4;
typedef __vector double vec_double2;
#ifndef __SPU__
typedef __vector __bool char vec_bchar16;
typedef __vector __bool short vec_bshort8;
typedef __vector __bool int vec_bint4;
typedef __vector __pixel vec_pixel8;
#endif

#endif
