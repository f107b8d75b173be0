/* Products, lengths and reflections of single vectors of floats, and matrices of four vectors, by
 * their published names, for both sides.
 *
 * A 3 in a name leaves element 3 out of sums. A name with an underscore in front is the same
 * function.
 */
#ifndef __LIBVECTOR_H__
#define __LIBVECTOR_H__

#include <cellworks_vectors.h>
#ifdef __SPU__
#include <spu_intrinsics.h>
#else
#include <altivec.h>
#endif

#define __CW_L(R, name, parameters, arguments, ...) \
  __cw_inline R name parameters { __VA_ARGS__ } \
  __cw_inline R _##name parameters { return name arguments; }

__CW_L(float, sum_across_float3, (vec_float4 __a), (__a), return __a[0] + __a[1] + __a[2];)
__CW_L(float, sum_across_float4, (vec_float4 __a), (__a), return __a[0] + __a[1] + __a[2] + __a[3];)
__CW_L(float, dot_product3, (vec_float4 __a, vec_float4 __b), (__a, __b), return sum_across_float3(__a * __b);)
__CW_L(float, dot_product4, (vec_float4 __a, vec_float4 __b), (__a, __b), return sum_across_float4(__a * __b);)
/* Element 3 of the product is 0. */
__CW_L(vec_float4, cross_product3, (vec_float4 __a, vec_float4 __b), (__a, __b),
       return (vec_float4){__a[1] * __b[2] - __a[2] * __b[1], __a[2] * __b[0] - __a[0] * __b[2],
                           __a[0] * __b[1] - __a[1] * __b[0], 0};)
__CW_L(float, length_vec3, (vec_float4 __a), (__a), return __builtin_sqrtf(dot_product3(__a, __a));)
__CW_L(float, inv_length_vec3, (vec_float4 __a), (__a), return 1.0f / length_vec3(__a);)
/* All four elements are divided by the length. */
__CW_L(vec_float4, normalize3, (vec_float4 __a), (__a), return __a * (vec_float4)(inv_length_vec3(__a));)
__CW_L(vec_float4, normalize4, (vec_float4 __a), (__a),
       return __a * (vec_float4)(1.0f / __builtin_sqrtf(dot_product4(__a, __a)));)
/* `a` mirrored at the plane with the normal `n`, which has the length 1. */
__CW_L(vec_float4, reflect_vec3, (vec_float4 __a, vec_float4 __n), (__a, __n),
       return __a - __n * (vec_float4)(2.0f * dot_product3(__a, __n));)
__CW_L(vec_float4, load_vec_float4, (float __a, float __b, float __c, float __d), (__a, __b, __c, __d),
       return (vec_float4){__a, __b, __c, __d};)
__CW_L(vec_int4, load_vec_int4, (int __a, int __b, int __c, int __d), (__a, __b, __c, __d),
       return (vec_int4){__a, __b, __c, __d};)
/* `a` for 0, `b` for 1, and what lies between them. */
__CW_L(vec_float4, lerp_vec, (vec_float4 __a, vec_float4 __b, vec_float4 __t), (__a, __b, __t),
       return __a + (__b - __a) * __t;)

/* The largest and the smallest element, of three or four. */
#define __CW_L_EXTREME(T, V, G, name, op) \
  __CW_L(T, name##3, (V __a), (__a), T __m = __a[0] op __a[1] ? __a[0] : __a[1]; return __m op __a[2] ? __m : __a[2];) \
  __CW_L(T, name##4, (V __a), (__a), T __m = name##3(__a); return __m op __a[3] ? __m : __a[3];)
__CW_L_EXTREME(float, vec_float4, __cw_f32, max_vec_float, >)
__CW_L_EXTREME(float, vec_float4, __cw_f32, min_vec_float, <)
__CW_L_EXTREME(int, vec_int4, __cw_s32, max_vec_int, >)
__CW_L_EXTREME(int, vec_int4, __cw_s32, min_vec_int, <)
#undef __CW_L_EXTREME

/* A point or a vector times the matrix `m`, whose vectors are its columns. A point of three
   elements has the fourth one 1. */
__CW_L(vec_float4, xform_vec4, (vec_float4 __v, const vec_float4 *__m), (__v, __m),
       return __m[0] * (vec_float4)(__v[0]) + __m[1] * (vec_float4)(__v[1]) + __m[2] * (vec_float4)(__v[2]) +
              __m[3] * (vec_float4)(__v[3]);)
__CW_L(vec_float4, xform_vec3, (vec_float4 __v, const vec_float4 *__m), (__v, __m),
       return __m[0] * (vec_float4)(__v[0]) + __m[1] * (vec_float4)(__v[1]) + __m[2] * (vec_float4)(__v[2]) + __m[3];)
__CW_L(void, transpose_matrix4x4, (vec_float4 *__to, const vec_float4 *__m), (__to, __m),
       vec_float4 __a = __m[0]; vec_float4 __b = __m[1]; vec_float4 __c = __m[2]; vec_float4 __d = __m[3];
       for (int __i = 0; __i < 4; __i++) __to[__i] = (vec_float4){__a[__i], __b[__i], __c[__i], __d[__i]};)
__CW_L(void, identity_matrix4x4, (vec_float4 *__to), (__to),
       for (int __i = 0; __i < 4; __i++) { __to[__i] = (vec_float4){0, 0, 0, 0}; __to[__i][__i] = 1; })

#undef __CW_L

#endif
