#define BYTES 4096

struct image {
    unsigned char in[BYTES];
    unsigned char out[BYTES];
};
