/* The registers of an SPE, and the opcodes and limits of its MFC, for programs of the PPU. */
#ifndef _CBE_MFC_H
#define _CBE_MFC_H

#include <cbea_map.h>
#include <cellworks_cbe_mfc.h>

#endif
