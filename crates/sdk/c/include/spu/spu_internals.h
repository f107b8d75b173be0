/* The intrinsics, by another name of them. */
#include <spu_intrinsics.h>
