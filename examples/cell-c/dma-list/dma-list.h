#define ROWS 8
#define COLUMNS 64

struct rows {
    int row[ROWS][COLUMNS];
};
