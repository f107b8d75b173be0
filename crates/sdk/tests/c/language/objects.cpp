// Classes: constructors before main, virtual functions, pointers to members, templates, new and
// delete.
#include <new>
#include <stdio.h>

static int made = 0;

class Shape {
 public:
  explicit Shape(int size) : size(size) { made++; }
  virtual ~Shape() { made--; }
  virtual double area() const = 0;
  int twice(int by) { return 2 * size * by; }

 protected:
  int size;
};

class Square : public Shape {
 public:
  explicit Square(int size) : Shape(size) {}
  virtual double area() const { return double(size) * size; }
};

class Circle : public Shape {
 public:
  explicit Circle(int size) : Shape(size), ratio(3.25) {}
  virtual double area() const { return ratio * size * size; }

 private:
  double ratio;
};

struct Early {
  Early() { printf("early %d\n", made); }
  ~Early() { printf("late\n"); }
};

static Early early;
static Square square(3);

template <typename T>
T largest(const T *values, int count) {
  T best = values[0];
  for (int i = 1; i < count; i++)
    if (values[i] > best) best = values[i];
  return best;
}

static Shape &once() {
  static Circle circle(1);
  return circle;
}

int main() {
  int (Shape::*member)(int) = &Shape::twice;
  Shape *shapes[] = {&square, new Circle(2), new Square(5), &once()};
  double areas[4];
  for (int i = 0; i < 4; i++) areas[i] = shapes[i]->area();
  printf("%g %g %g %g\n", areas[0], areas[1], areas[2], areas[3]);
  printf("%g %d\n", largest(areas, 4), (shapes[2]->*member)(10));
  printf("%d\n", made);
  delete shapes[1];
  delete shapes[2];
  printf("%d\n", made);
  int *numbers = new int[10]();
  numbers[9] = 4;
  printf("%d\n", numbers[8] + numbers[9]);
  delete[] numbers;
  char *volatile huge = new (std::nothrow) char[0x7fffff00], *volatile few = new (std::nothrow) char[3];
  printf("%d %d\n", huge == 0, few != 0);
  delete[] few;
}
