/* What tests of functions share: a condition that must hold, with its line. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

static int failures;

#define EXPECT(condition) \
  if (!(condition) && ++failures < 20) printf("line %d: %s\n", __LINE__, #condition);

#endif
