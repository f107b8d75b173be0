// Pointers to members that are chosen while the program runs, so that no call is folded.
#include <stdio.h>

struct Base {
  explicit Base(int value) : value(value), other(10 * value) {}
  int sum(int by) { return value + by; }
  int difference(int by) { return value - by; }
  int product(int by) const { return value * by; }
  int quotient(int by) { return value / by; }
  virtual int first(int by) { return 100 + by; }
  virtual int second(int by) { return 200 + by; }
  int value, other;
};

struct Side {
  virtual int beside(int by) { return tag + by; }
  int tagged(int by) { return tag * by; }
  int tag = 7;
};

struct Derived : Side, Base {
  Derived() : Base(30) {}
  int second(int by) { return 300 + by; }
};

typedef int (Base::*Function)(int);
typedef int (Derived::*OfDerived)(int);

static Function table[] = {&Base::sum, &Base::difference, &Base::quotient, &Base::first, &Base::second, 0};

static Function chosen(volatile int which) { return table[which]; }

int main() {
  Derived derived;
  Base *base = &derived;
  for (volatile int i = 0; table[i]; i++) printf("%d ", (base->*chosen(i))(3));
  OfDerived all[] = {chosen(0), chosen(4), &Side::beside, &Side::tagged};
  for (volatile int i = 0; i < 4; i++) printf("%d ", (derived.*all[i])(3));
  int (Base::*constant)(int) const = &Base::product;
  printf("%d\n", (base->*constant)(3));
  int Base::*fields[] = {&Base::value, &Base::other};
  for (volatile int i = 0; i < 2; i++) printf("%d ", base->*fields[i]);
  printf("%d %d %d\n", chosen(0) == &Base::sum, chosen(1) == chosen(2), chosen(5) == 0);
}
