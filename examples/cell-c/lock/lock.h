#define SPES 4
#define TIMES 100

/* The lock and the counter, each in a line of its own. */
struct shared {
    unsigned int lock[32];
    unsigned int counter[32];
};
