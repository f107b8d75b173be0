/* Calls of functions that the PPU has registered with spe_callback_handler_register. */
#include <errno.h>
#include <spu_intrinsics.h>

/* Stops with `signal`, 0x2100 and the number of the function. On an SPU, the address of the
 * arguments is in the word after the stop; the PPU looks for it at address 0. The function leaves
 * its result in word 0 of the arguments, and errno in word 3. */
int __send_to_ppe(unsigned int signal, unsigned int opcode, void *data) {
    static unsigned volatile *volatile after_the_stop;
    *after_the_stop = opcode << 24 | ((unsigned)data & 0xffffff);
    spu_stop(signal);
    errno = ((volatile int *)data)[3];
    return ((volatile int *)data)[0];
}
