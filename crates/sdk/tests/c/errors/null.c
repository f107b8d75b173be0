/* Loads, stores and copies through a null pointer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item {
    int values[4];
    struct item *next;
    char text[4000];
};

static void fill(char *at, int n) { memset(at, 1, n); }
static void move(char *to, const char *from, int n) { memcpy(to, from, n); }

int main(int argc, char **argv)
{
    struct item *volatile none = NULL;
    struct item here = {{0}};
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0: none->next = &here; break; /* way 0 */
    case 1: return none->next->values[1]; /* way 1 */
    case 2: here = *none; break; /* way 2 */
    case 3: *none = here; break; /* way 3 */
    case 4: fill(none->text, argc * 50); break; /* way 4 */
    case 5: move(here.text, none->text, argc * 50); break; /* way 5 */
    case 6: return strlen(none->text); /* way 6 */
    case 7: {
        struct item *volatile large = malloc(300u << 20); /* more than there is */
        large->next = &here; /* way 7 */
        break;
    }
    case 8: /* No byte is used. */
        fill(NULL, argc - 2);
        move(NULL, NULL, argc - 2);
        return write(1, NULL, 0) + 8;
    case 9: return write(1, none->text, 5) == -1 ? 9 : 0; /* the system says it */
    }
    return here.text[0];
}
