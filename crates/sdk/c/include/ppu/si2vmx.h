/* The specific intrinsics of an SPU over quadwords (si_*) for programs of the PPU. */
#ifndef _SI2VMX_H_
#define _SI2VMX_H_

#include <cellworks_si.h>

#endif
