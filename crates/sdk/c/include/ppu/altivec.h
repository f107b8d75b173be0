/* The vector intrinsics of the PPU. */
#ifndef __ALTIVEC_H
#define __ALTIVEC_H

#include <cellworks_altivec.h>

#endif
