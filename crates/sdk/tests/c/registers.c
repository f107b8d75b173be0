/* The PPU loads and stores the registers of SPEs at addresses of spe_ps_area_get. An argument asks
 * for something that cannot be done. */
#include <cbe_mfc.h>
#include <cbea_map.h>
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern spe_program_handle_t registers_spu;

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, NULL, NULL, NULL);
    return NULL;
}

static void issue(spe_mfc_command_area_t *mfc, volatile unsigned *at, unsigned size, unsigned command) {
    do {
        mfc->MFC_LSA = 0x20000;
        *(volatile unsigned long long *)&mfc->MFC_EAH = (unsigned)at; /* and MFC_EAL */
        mfc->MFC_Size_Tag = size << 16 | 3;
        mfc->MFC_ClassID_CMD = command; /* issues it */
    } while (mfc->MFC_CMDStatus & 3);
    mfc->Prxy_QueryType = 0;
    mfc->Prxy_QueryMask = 1 << 3 | 1 << 7;
    while ((mfc->Prxy_TagStatus & 1 << 3) == 0)
        ;
}

/* From memory to a local store, and back to other memory. */
static void proxies(spe_mfc_command_area_t *mfc) {
    static unsigned from[32] __attribute__((aligned(128))), to[32] __attribute__((aligned(128)));
    from[31] = 31;
    issue(mfc, from, sizeof from, MFC_GET_CMD);
    issue(mfc, to, sizeof to, MFC_PUT_CMD);
    printf("by proxy %u, status %#x\n", to[31], mfc->Prxy_TagStatus);
}

int main(int argc, char **argv) {
    spe_context_ptr_t spe[3];
    spe_spu_control_area_t *control[3];
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) {
        spe[i] = spe_context_create(SPE_MAP_PS, NULL);
        if (!spe[i] || spe_program_load(spe[i], &registers_spu))
            return 9;
        control[i] = spe_ps_area_get(spe[i], SPE_CONTROL_AREA);
    }
    volatile unsigned *between = malloc(64);
    *between = 5;
    *between += 2;

    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 1: printf("%u\n", control[1]->SPU_In_Mbox); break;
    case 2: control[1]->SPU_RunCntl = 1; break;
    case 3:
        for (int i = 0; i < 5; i++)
            control[1]->SPU_In_Mbox = i;
        break;
    case 4:
        spe_context_destroy(spe[1]);
        printf("%u\n", control[1]->SPU_Mbox_Stat);
        break;
    case 5: ((spe_mfc_command_area_t *)spe_ps_area_get(spe[1], SPE_MFC_COMMAND_AREA))->MFC_EAH = 1; break;
    case 6: issue(spe_ps_area_get(spe[1], SPE_MFC_COMMAND_AREA), between, 5, MFC_GET_CMD);
    }
    proxies(spe_ps_area_get(spe[1], SPE_MFC_COMMAND_AREA));

    printf("at first %#x %u %u %u\n", control[0]->SPU_Mbox_Stat, control[0]->SPU_Status,
           control[0]->SPU_Out_Mbox, *between);
    control[0]->SPU_In_Mbox = 20;
    control[2]->SPU_In_Mbox = 40;
    printf("with a word %#x %#x %#x\n", control[0]->SPU_Mbox_Stat, control[1]->SPU_Mbox_Stat,
           control[2]->SPU_Mbox_Stat);
    for (int i = 0; i < 3; i += 2)
        pthread_create(&thread[i], NULL, run, spe[i]);
    for (int i = 0; i < 3; i += 2) {
        while ((control[i]->SPU_Mbox_Stat & 0xff) == 0)
            ;
        printf("SPE %d says %u and runs: %u\n", i, control[i]->SPU_Out_Mbox, control[i]->SPU_Status);
        volatile unsigned *signal = spe_ps_area_get(spe[i], SPE_SIG_NOTIFY_2_AREA);
        signal[3] = 3;
        /* More words than there is room for. */
        for (int word = 0; word < 8; word++)
            control[i]->SPU_In_Mbox = word;
        while (control[i]->SPU_Status & 1)
            ;
        printf("it has stopped with %#x\n", control[i]->SPU_Status);
        pthread_join(thread[i], NULL);
    }
    return 0;
}
