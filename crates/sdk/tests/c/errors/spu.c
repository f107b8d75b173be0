/* What an SPU program may do wrong, by the macro WRONG. */
#include <spu_intrinsics.h>
#include <spu_mfcio.h>
#include <stdlib.h>

static char buffer[256] __attribute__((aligned(128)));
static mfc_list_element_t list[2] __attribute__((aligned(8)));
static mfc_list_element_t late[1] __attribute__((aligned(8)));
static volatile int zero;

static int deep(int depth) {
    volatile char room[4096];
    room[0] = depth;
    return deep(depth + 1) + room[0];
}

/* Issues a list that stalls, and returns one that is legal. */
static mfc_list_element_t *fenced(unsigned long long argp) {
    list[0].notify = 1;
    list[0].size = list[1].size = late[0].size = 16;
    list[0].eal = list[1].eal = late[0].eal = mfc_ea2l(argp);
    mfc_getl(buffer, argp, list, sizeof list, 3, 0, 0);
    return late;
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    if (WRONG == 21 || WRONG == 24) list[1].size = 16;
    switch (WRONG) {
    case 1: mfc_get(buffer, argp, 16, 40, 0, 0); break;
    case 2: mfc_get(buffer, argp, 24, 3, 0, 0); break;
    case 3: mfc_get(buffer + 8, argp, 16, 3, 0, 0); break;
    case 4: mfc_get(buffer, 0, 16, 3, 0, 0); break;
    case 5: mfc_get(buffer, 0x20000000, 16, 3, 0, 0); break;
    case 6: mfc_put((void *)0x3fff0, argp, 32, 3, 0, 0); break;
    case 7: return deep(0);
    case 8: return 10 / zero;
    case 9: return *(volatile int *)(0x40000 + zero);
    case 10: return ((int (*)(void))zero)();
    case 11: return spu_read_in_mbox();
    case 12: return mfc_read_tag_status();
    case 13: spu_hcmpeq(zero, 0); break;
    case 14: abort();
    case 15: return spu_readch(28);
    case 16:
        list[0].size = 16;
        list[0].eal = mfc_ea2l(argp);
        list[1].size = 16;
        list[1].eal = 0x30000000;
        mfc_getl(buffer, argp, list, sizeof list, 3, 0, 0);
        mfc_write_tag_mask(1 << 3);
        mfc_read_tag_status_all();
        break;
    case 17: spu_write_out_mbox(1); spu_write_out_mbox(2); break;
    case 18: return spu_read_signal1();
    case 19: return mfc_read_atomic_status();
    case 20: /* a list becomes illegal while it waits for another one */
        mfc_getlf(buffer + 128, argp, fenced(argp), sizeof late, 3, 0, 0);
        late[0].eal = 0x30000000;
        mfc_read_list_stall_status();
        mfc_write_list_stall_ack(3);
        mfc_write_tag_mask(1 << 3);
        mfc_read_tag_status_all();
        break;
    case 21: mfc_getl(buffer, argp, list, sizeof list, 3, 0, 0); break; /* its elements are null */
    case 22: mfc_get(buffer, 0xe000000000001000ULL, 16, 3, 0, 0); break;
    case 23: mfc_get(buffer, 0x20000004, 16, 3, 0, 0); break;
    case 24: mfc_getl(buffer, 0x500000000ULL, list, sizeof list, 3, 0, 0); break;
    case 25: mfc_getllar(buffer, 0, 0, 0); break;
    }
    return 0;
}
