/* One function of simdmath.h. */
#include <simdmath.h>
