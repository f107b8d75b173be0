/* Prints its arguments. */
#include <stdio.h>

int main(int count, char **words) {
    for (int word = 1; word < count; word++)
        printf("%s%c", words[word], word + 1 < count ? ' ' : '\n');
    return 0;
}
