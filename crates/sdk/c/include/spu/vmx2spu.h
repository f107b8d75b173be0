/* The vector intrinsics of the PPU (vec_*) for programs of an SPU. A vector of masks has the type
 * that it has on the PPU. */
#ifndef _VMX2SPU_H_
#define _VMX2SPU_H_

#include <cellworks_altivec.h>
#include <spu_intrinsics.h>

#endif
