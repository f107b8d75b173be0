/* The set of signals, in place of that of WASI, which has room for none. */
#ifndef __wasilibc___typedef_sigset_t_h
#define __wasilibc___typedef_sigset_t_h

typedef struct {
    unsigned long long __signals;
} sigset_t;

#endif
