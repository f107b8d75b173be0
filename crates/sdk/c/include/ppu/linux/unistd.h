/* The numbers of system calls on Linux: there are none here. */
