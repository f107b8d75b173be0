/* Stores and reads through a null pointer. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct item {
    int values[4];
    struct item *next;
};

static void link_up(struct item *item) { item->next = item + 1; }

int main(int argc, char **argv)
{
    struct item *volatile none = NULL;
    (void)argv;
    if (argc > 3) {
        struct item *volatile large = malloc(300u << 20); /* more than there is */
        link_up(large);
        return 0;
    }
    if (argc > 2)
        return none->next->values[1]; /* read here */
    link_up(none);
    if (argc > 1)
        time(NULL); /* found here */
    return 0;
}
