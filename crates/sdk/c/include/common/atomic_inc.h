/* One function of libsync.h. */
#include <libsync.h>
