/* An SPE gathers the rows of a matrix that a list names, by one command, and scatters them back in
 * another order by another one. */
#include <libspe2.h>
#include <stdio.h>

#include "dma-list.h"

extern spe_program_handle_t dma_list_spu;

static struct rows rows __attribute__((aligned(128)));

int main(void) {
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            rows.row[row][column] = 100 * row + column;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &dma_list_spu)) {
        perror("spe_context_create");
        return 1;
    }
    unsigned int entry = SPE_DEFAULT_ENTRY;
    if (spe_context_run(spe, &entry, 0, &rows, NULL, NULL) < 0) {
        perror("spe_context_run");
        return 1;
    }
    for (int row = 0; row < ROWS; row++)
        printf("row %d begins with %d, and ends with %d\n", row, rows.row[row][0],
               rows.row[row][COLUMNS - 1]);
    spe_context_destroy(spe);
    return 0;
}
