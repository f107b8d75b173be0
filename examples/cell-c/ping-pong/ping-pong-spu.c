/* Answers each word with its double, until the word is 0. */
#include <spu_mfcio.h>

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    int answers = 0;
    (void)id, (void)argp, (void)envp;
    for (unsigned int word; (word = spu_read_in_mbox()) != 0; answers++)
        spu_write_out_mbox(2 * word);
    return answers;
}
