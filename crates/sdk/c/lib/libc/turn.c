/* Whose turn it is: see turn.h. */
struct __cw_turn __cw_turn;
