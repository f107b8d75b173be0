/* The opcodes and limits of the MFC, by the name of an older header. */
#include <spu_mfcio.h>
