/* The intrinsics of an SPU over vectors (spu_*, si_*) for programs of the PPU. Those for channels
 * and control do not exist there. */
#ifndef _SPU2VMX_H_
#define _SPU2VMX_H_

#include <altivec.h>
#include <si2vmx.h>

#endif
