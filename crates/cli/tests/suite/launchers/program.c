#include <mpi.h>
#include <stdio.h>
#include <string.h>
/* Ranks 0, 2, 4 pass blocks around, and so do 1, 3, 5. In each round all agree whether to go on. */
int main(int argc, char **argv) {
    static char out[65536], in[65536];
    int rank, size, go = 1, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 100; round++) {
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, (rank + 2) % size, 0, in, sizeof in, MPI_CHAR,
                     (rank + size - 2) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&go, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
