/* What both sides of ea.c use: pointers to memory of the PPU. */
#ifndef __SPU__
#define __ea
#endif

struct three {
    int a, b, c;
};

struct node {
    __ea struct node *next;
    int number;
    struct three three;
};

struct job {
    __ea unsigned char *shared;
    __ea int *numbers;
    __ea struct node *list;
    __ea const char *text;
    __ea char *made;
    char said[32];
    int part, wrong;
};
