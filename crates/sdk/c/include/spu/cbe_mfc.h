/* The opcodes and limits of the MFC, by the name of an older header. */
#include <cellworks_cbe_mfc.h>
#include <spu_mfcio.h>
