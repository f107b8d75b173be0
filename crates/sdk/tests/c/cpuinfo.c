/* Prints what the system says of its processors, and compares the rate of the time base. */
#include <ppu_intrinsics.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char line[80];
    unsigned long rate = 0;
    unsigned long long from, ticks;
    FILE *file = fopen("/proc/cpuinfo", "r");

    if (!file)
        return 1;
    while (fgets(line, sizeof line, file)) {
        fputs(line, stdout);
        sscanf(line, "timebase : %lu", &rate);
    }
    fclose(file);
    from = __mftb();
    usleep(1000);
    ticks = __mftb() - from;
    if (ticks < rate / 1000)
        return 2;
    return fopen("/proc/meminfo", "r") != NULL;
}
