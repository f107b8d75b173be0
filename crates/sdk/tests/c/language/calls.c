/* What functions take and return: arguments without names, structures, old declarations,
   pointers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int ints __attribute__((vector_size(16)));
struct small { short a, b; };
struct large { int a[5]; double d; };
union either { int i; float f; };

static double sum(int n, ...) {
  va_list list, again;
  double sum = 0;
  va_start(list, n);
  va_copy(again, list);
  while (n--) sum += va_arg(list, int) + va_arg(list, double) + *va_arg(list, char *);
  sum += 1000 * va_arg(again, int);
  va_end(again);
  va_end(list);
  return sum;
}

static int mixed(int first, ...) {
  va_list list;
  int total = first;
  va_start(list, first);
  total += va_arg(list, struct small).b;
  total += (int)va_arg(list, long long);
  total += va_arg(list, struct large).a[4];
  total += va_arg(list, ints)[2];
  total += va_arg(list, union either).i;
  total += (int)va_arg(list, long double);
  total += *va_arg(list, int *);
  va_end(list);
  return total;
}

static void text(char *to, const char *form, ...) {
  va_list list;
  va_start(list, form);
  vsprintf(to, form, list);
  va_end(list);
}

static __attribute__((noinline)) struct large change(struct large in, struct small by) {
  in.a[4] += by.a;
  in.d *= by.b;
  return in;
}

static __attribute__((noinline)) struct small swapped(struct small in) {
  struct small out = {in.b, in.a};
  return out;
}

old(a, b) int a; char b; { return a * 10 + b; }

int late();

static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
static int (*const table[])(int) = {twice, thrice};
static const char *names[] = {"zero", "one", "two"};
static const char **second = &names[1];
static struct node { int value; struct node *next; } nodes[] = {{1, &nodes[1]}, {2, &nodes[2]}, {3, 0}};

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(void) {
  struct large large = {{1, 2, 3, 4, 5}, 2.5};
  struct small small = {10, 3};
  union either either;
  int eight = 8, numbers[] = {3, -1, 4, 100000, 5}, total = 0;
  char line[40], *words[] = {"pear", "apple", "fig"};
  struct node *node;
  ints vector = {1, 2, 30, 4};

  printf("%g\n", sum(2, 1, 2.5, "\1", 10, 100.0, "\2"));
  either.i = 7;
  printf("%d\n", mixed(1, small, 200LL, large, vector, either, (long double)9, &eight));
  /* What is read as a shorter type moves none of the others. */
  text(line, "%x %d %s %x %g", 0x123456789aULL, 42, "next", -1LL, 0.5);
  puts(line);
  text(line, "%c%5.2f|%-4d|%04x|%s|%lld", 'a', 3.14159, 42, 255, "end", -1234567890123LL);
  puts(line);
  large = change(large, small);
  small = swapped(small);
  printf("%d %g %d %d\n", large.a[4], large.d, small.a, small.b);
  printf("%d %d\n", old(4, 2), late(1, 2.5));
  printf("%d %d %s %s\n", table[eight & 1](5), table[1](5), names[2], second[1]);
  for (node = nodes; node; node = node->next) total = total * 10 + node->value;
  printf("%d\n", total);
  qsort(numbers, 5, sizeof *numbers, descending);
  qsort(words, 3, sizeof *words, by_name);
  printf("%d %d %d %s %s\n", numbers[0], numbers[1], numbers[4], words[0], words[2]);
  return 0;
}

int late(int a, double b) { return a + (int)(2 * b); }
