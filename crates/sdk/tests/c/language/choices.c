/* Choices between addresses, of which the optimiser likes to make tables. */
#include <stdio.h>

static int more(int x) { return x + 1; }
static int twice(int x) { return x * 2; }
static int less(int x) { return x - 3; }
static int other(int x) { return x ^ 5; }

__attribute__((noinline)) static const char *name(int which) {
  switch (which) {
  case 0: return "zero";
  case 1: return "one";
  case 2: return "two";
  case 3: return "three";
  case 4: return "four";
  default: return "many";
  }
}

__attribute__((noinline)) static int (*function(int which))(int) {
  switch (which) {
  case 0: return more;
  case 1: return twice;
  case 2: return less;
  default: return other;
  }
}

__attribute__((noinline)) static double number(int which) {
  switch (which) {
  case 0: return 1.5;
  case 1: return -2.25;
  case 2: return 1e9;
  case 3: return 0;
  default: return 7;
  }
}

/* A table of labels. */
__attribute__((noinline)) static int run(const unsigned char *code) {
  static void *const labels[] = {&&add, &&times, &&jump, &&end};
  int sum = 1;
  void *next = &&back;
again:
  goto *labels[*code++];
add:
  sum += *code++;
  goto again;
times:
  sum *= *code++;
  goto again;
jump:
  goto *next;
back:
  next = &&end;
  sum += 1000;
  goto again;
end:
  return sum;
}

int main(void) {
  const unsigned char code[] = {0, 4, 1, 3, 2, 1, 2, 2};
  printf("%d\n", run(code));
  for (volatile int i = 0; i < 6; i++) printf("%s %d %g\n", name(i), function(i)(10), number(i));
  return 0;
}
