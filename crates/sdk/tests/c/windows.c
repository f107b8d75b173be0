/* Prints the address at which the SPU program does what the first argument says, and runs it. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern spe_program_handle_t windows_spu;

static unsigned words[32] __attribute__((aligned(128)));
static unsigned waits[32] __attribute__((aligned(128)));
static volatile unsigned other;

/* Runs the program as one that waits. */
static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_program_load(spe, &windows_spu);
    waits[0] = 7;
    other = (unsigned)spe_ps_area_get(spe, SPE_CONTROL_AREA);
    spe_context_run(spe, &entry, 0, waits, NULL, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    unsigned int entry = SPE_DEFAULT_ENTRY, local, registers, at = 0;
    spe_context_ptr_t spe = spe_context_create(SPE_MAP_PS, NULL);
    if (!spe || argc < 2 || spe_program_load(spe, &windows_spu))
        return 9;
    local = (unsigned)spe_ls_area_get(spe);
    registers = (unsigned)spe_ps_area_get(spe, SPE_SIG_NOTIFY_1_AREA);
    words[0] = atoi(argv[1]);
    switch (words[0]) {
    case 0: words[2] = local; break;
    case 1: at = local + 0x3fff0; break; /* past the end of the local store */
    case 2: at = local - 16; break;      /* from memory into the local store */
    case 3: at = registers + 12; break;  /* a signal by a list */
    case 4: at = registers; break;       /* a register that cannot be read */
    case 5: at = local + 4; break;       /* another offset in its 16 bytes */
    case 6:                              /* SPU_Mbox_Stat of another SPE, which runs */
        pthread_create(&thread, NULL, run, spe_context_create(SPE_MAP_PS, NULL));
        while (!other)
            sched_yield();
        at = other + 0x14;
        break;
    }
    words[1] = at;
    printf("0x%x\n", at);
    fflush(stdout);
    if (spe_context_run(spe, &entry, 0, words, NULL, NULL) == 0)
        printf("all is well\n");
    return 0;
}
