/* What the PPU tells the SPE: multiples of 16 bytes, as DMA wants it. */
#define COUNT 262144

struct job {
    unsigned long long numbers;
    unsigned long long sum;
    unsigned int count;
    unsigned int padding[3];
};
