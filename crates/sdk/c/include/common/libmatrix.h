/* Matrices of four vectors. */
#include <libvector.h>
