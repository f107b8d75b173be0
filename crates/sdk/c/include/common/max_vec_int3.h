/* One function of libvector.h. */
#include <libvector.h>
