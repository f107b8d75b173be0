/* The limits and the priority of a program of the PPU. A program of an SPU has none of these. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

/* The stack of `main`, as the linker is told (`toolchain/link.rs`). Nothing else is limited. */
#define STACK_BYTES (8 << 20)

int getrlimit(int resource, struct rlimit *limit)
{
    if (resource < RLIMIT_CPU || resource > RLIMIT_AS) {
        errno = EINVAL;
        return -1;
    }
    limit->rlim_cur = resource == RLIMIT_STACK ? STACK_BYTES : RLIM_INFINITY;
    limit->rlim_max = limit->rlim_cur;
    return 0;
}

int setrlimit(int resource, const struct rlimit *limit)
{
    struct rlimit present;

    if (getrlimit(resource, &present) < 0)
        return -1;
    if (limit->rlim_cur == present.rlim_cur && limit->rlim_max == present.rlim_max)
        return 0;
    errno = EPERM;
    return -1;
}

/* The program is all of its group and of its user. */
static int is_own(int which, id_t who)
{
    int is_known = which == PRIO_PROCESS || which == PRIO_PGRP || which == PRIO_USER;
    id_t own = which == PRIO_USER ? getuid() : (id_t)getpid();

    errno = is_known ? ESRCH : EINVAL;
    return is_known && (who == 0 || who == own);
}

int getpriority(int which, id_t who) { return is_own(which, who) ? nice(0) : -1; }

int setpriority(int which, id_t who, int priority)
{
    if (!is_own(which, who))
        return -1;
    if (nice(priority - nice(0)) < 0) {
        errno = EACCES;
        return -1;
    }
    return 0;
}
