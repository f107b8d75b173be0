/* An SPU has one thread, so its own variable is the one that the linker has placed. */
void *__cell_thread_local(void *variable, unsigned bytes, unsigned alignment) {
    (void)bytes;
    (void)alignment;
    return variable;
}
