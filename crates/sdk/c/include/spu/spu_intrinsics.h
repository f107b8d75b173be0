/* The intrinsics of an SPU, by their published names. */
#ifndef __SPU_INTRINSICS_H__
#define __SPU_INTRINSICS_H__

#include <spu_channels.h>

#endif
