/* Where the bytes of values lie: in variables, constants, unions, bit-fields, vectors and files. */
#include <stdio.h>
#include <string.h>

typedef unsigned int words __attribute__((vector_size(16)));
typedef unsigned short halves __attribute__((vector_size(16)));
typedef unsigned char bytes __attribute__((vector_size(16)));
typedef union {
  unsigned long long all;
  unsigned int half[2];
} address;

static unsigned int word = 0x11223344;
static double number = 1.0;
static float numbers[2] = {1.0f, -2.5f};
static short shorts[3] = {1, 2, 3};
static long long wide = 0x0102030405060708ll;
static words quad = {0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f};
static const bytes folded = (bytes)((words){0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f});
static union {
  unsigned char c[16];
  words v;
} initial = {{1, 2, 3, 4}};
static struct {
  unsigned notify : 1, reserved : 16, size : 15;
} fields = {1, 0, 512};
static struct __attribute__((packed)) {
  char tag;
  int value;
  double number;
} packed = {1, 0x02030405, 2.0};

static void show(const char *name, const void *memory, int size) {
  const unsigned char *c = memory;
  printf("%-8s", name);
  while (size--) printf(" %02x", *c++);
  printf("\n");
}

static __attribute__((noinline)) unsigned low(address a) { return a.half[1]; }

/* Big-endian numbers of a file. */
static __attribute__((noinline)) int read_number(const unsigned char *file, int at) {
  return *(const int *)(file + at);
}

int main(void) {
  unsigned char file[9] = {9, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
  volatile unsigned int changing = 0x01020304;
  address a;
  float local = 1.0f;
  words other = quad + 1;
  int n = *(volatile int *)&word & 15;

  show("word", &word, 4);
  show("number", &number, 8);
  show("numbers", numbers, 8);
  show("shorts", shorts, 6);
  show("wide", &wide, 8);
  show("quad", &quad, 16);
  show("initial", &initial.v, 16);
  show("fields", &fields, 4);
  show("packed", &packed, 13);
  show("local", &local, 4);
  show("other", &other, 16);
  show("volatile", (const void *)&changing, 4);
  a.all = 0x100000000ull + n;
  printf("%u %u\n", low(a), a.half[0]);
  printf("%d %d %d\n", folded[n], ((bytes)quad)[n + 1], ((bytes)(words){0x00010203, 0x04050607})[n]);
  printf("%x %x %x\n", ((halves)quad)[1], initial.v[0], ((words)((bytes){1, 2, 3, 4, 5}))[n - 3]);
  printf("%d %d\n", read_number(file, 1), read_number(file, 5));
  memcpy(&word, "\1\2\3\4", 4);
  printf("%x\n", word);
  numbers[1] = numbers[0] * 3;
  show("numbers", numbers, 8);
  fields.size--;
  show("fields", &fields, 4);
  packed.value++;
  printf("%x %g\n", packed.value, packed.number);
  return 0;
}
