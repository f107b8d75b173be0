/* The protocol of channels and alternations (docs/csp.md), for spin. Steps outside of a channel's lock, and what is done to
 * an alternation within it, are single steps here as they are in the program. Two who meet alone do so under the lock here, as
 * they do there as soon as there is anybody else; that they meet by one exchange is for loom to check.
 *
 * A network is chosen with -DRING, -DSHARED or -DENDING, and the capacity of its channels with -DCAPACITY=n:
 *   RING     -DPARTIES=2 or 3 alternations; each writes to the next one's channel and reads from its own
 *   SHARED   an alternation reads from a plain writer and from an alternation, which may also write to a plain reader
 *   ENDING   a writer and a reader, plain or alternating, as -DWRITER=PLAIN|GUARD, -DREADER=PLAIN|GUARD say, and one who
 *            poisons or closes the channel at any time
 *
 * -DCOARSE takes an alternation in one step, where the program looks at its state, at the pre-condition, and exchanges the
 * state if it is the same wait: that makes three parties small enough to be looked at in all states.
 *
 * Spin looks for states in which somebody waits for ever, violated assertions (items arrive once, in order), and, with
 * -DNP and -l, for ways to go on for ever without an exchange.
 */

#ifndef CAPACITY
#define CAPACITY 0
#endif
#define PLAIN 0
#define GUARD 1

#ifdef RING
#define CHANNELS PARTIES
#define ITEMS 1
#endif
#ifdef SHARED
#define PARTIES 4
#define CHANNELS 3
#define ITEMS 1
#endif
#ifdef ENDING
#define PARTIES 3
#define CHANNELS 1
#define ITEMS 2
#endif

#define NOBODY 7
#define READS(party) (2 * (party))
#define WRITES(party) (2 * (party) + 1)
#define ROOM 2

mtype = { looking, waiting, taken, poked, claimed };   /* an alternation */
mtype = { open, poisoned, closed };                   /* a channel */
mtype = { idle, queued, served, refused };            /* a plain reader or writer */

/* Alternations. The guard of a party p that reads channel c, or writes to it, is slot[2 * p + side]. */
mtype state[PARTIES] = looking;
byte wait_number[PARTIES];
byte claimed_guard[PARTIES];
bool ready[2 * PARTIES] = true;      /* once for each channel that it lists */
bool allowed[2 * PARTIES];
byte slot[2 * PARTIES];              /* an item, or 0 */
bool token[4];                       /* somebody has woken it */

/* Channels. */
bool locked[CHANNELS];
mtype ended[CHANNELS] = open;
byte length[CHANNELS];
byte buffer[CHANNELS * ROOM];
byte reader[CHANNELS] = NOBODY;      /* the plain reader that waits */
byte writer[CHANNELS] = NOBODY;
byte read_guard[CHANNELS] = NOBODY;  /* the guard that lists it */
byte write_guard[CHANNELS] = NOBODY;
mtype place[PARTIES] = idle;         /* of a plain party that waits */

/* What was written and read, as items count from 1. */
byte written[CHANNELS];
byte received[CHANNELS];
byte given_back[CHANNELS];

inline lock(c) { atomic { !locked[c]; locked[c] = true } }
inline unlock(c) {
    locked[c] = false;
    /* Who was given a reason to go on is woken after that. */
    d_step {
        token[0] = token[0] || (woken & 1);
        token[1] = token[1] || (woken & 2);
        token[2] = token[2] || (woken & 4);
        token[3] = token[3] || (woken & 8);
        woken = 0
    }
}
inline sleep_until(condition) {
    do
    :: atomic { condition -> break }
    :: atomic { !(condition) && token[me] -> token[me] = false }
    od;
    skip
}

/* Guard::open_wait and Party::take. */
inline take(guard) {
    is_taken = false;
    if
    :: guard != NOBODY ->
#ifdef COARSE
        d_step {
            if
            :: state[guard / 2] == waiting && allowed[guard] -> state[guard / 2] = taken; is_taken = true
            :: else
            fi
        };
#else
        d_step { is_open = (state[guard / 2] == waiting); number = wait_number[guard / 2] };
        if
        :: is_open && allowed[guard] ->
            d_step {
                if
                :: state[guard / 2] == waiting && wait_number[guard / 2] == number ->
                    state[guard / 2] = taken; is_taken = true
                :: else
                fi
            }
        :: else
        fi;
#endif
        d_step { is_open = false; number = 0 }
    :: else
    fi
}
inline end_take(guard, tag) {
    d_step { is_taken = false; claimed_guard[guard / 2] = guard; state[guard / 2] = tag; woken = woken | (1 << (guard / 2)) }
}
inline mark_ready(guard) {
    if
    :: guard != NOBODY ->
        ready[guard] = true;
        take(guard);
        if :: is_taken -> end_take(guard, poked) :: else fi
    :: else
    fi
}

/* State::take_from_writer: what = 0 if nobody has anything. */
inline take_from_writer(c) {
    what = 0;
    if
    :: writer[c] != NOBODY ->
        d_step {
            what = slot[WRITES(writer[c])]; slot[WRITES(writer[c])] = 0;
            place[writer[c]] = served; woken = woken | (1 << writer[c]); writer[c] = NOBODY
        }
    :: else ->
        if
        :: reader[c] == NOBODY && write_guard[c] / 2 != me ->
            take(write_guard[c]);
            if
            :: is_taken ->
                what = slot[write_guard[c]]; assert(what != 0);
                slot[write_guard[c]] = 0;
                end_take(write_guard[c], claimed)
            :: else
            fi
        :: else
        fi
    fi
}

/* State::read, under the lock: what = an item, or 0. */
inline step_read(c) {
    what = 0;
    if
    :: length[c] > 0 ->
        d_step { got = buffer[c * ROOM]; buffer[c * ROOM] = buffer[c * ROOM + 1]; length[c]-- };
        if
        :: ended[c] == open ->
            take_from_writer(c);
            if
            :: what != 0 -> d_step { buffer[c * ROOM + length[c]] = what; length[c]++ }
            :: else -> mark_ready(write_guard[c])
            fi
        :: else
        fi;
        what = got; got = 0
    :: else ->
        if
        :: ended[c] == open -> take_from_writer(c)
        :: else
        fi
    fi;
    if
    :: what != 0 -> d_step { assert(what == received[c] + 1); received[c] = what }
    :: else
    fi
}

/* State::write, under the lock, of item: is_done says whether it was accepted. */
inline step_write(c, item) {
    is_done = false;
    if
    :: ended[c] != open
    :: else ->
        if
        :: reader[c] != NOBODY ->
            d_step {
                slot[READS(reader[c])] = item; place[reader[c]] = served;
                woken = woken | (1 << reader[c]); reader[c] = NOBODY; is_done = true;
                assert(item == received[c] + 1); received[c] = item
            }
        :: else ->
            if
            :: length[c] == 0 && writer[c] == NOBODY && read_guard[c] / 2 != me ->
                take(read_guard[c]);
                if
                :: is_taken ->
                    d_step { assert(slot[read_guard[c]] == 0); slot[read_guard[c]] = item; assert(item == received[c] + 1); received[c] = item };
                    end_take(read_guard[c], claimed);
                    is_done = true
                :: else
                fi
            :: else
            fi;
            if
            :: !is_done && length[c] < CAPACITY ->
                d_step { buffer[c * ROOM + length[c]] = item; length[c]++; is_done = true };
                mark_ready(read_guard[c])
            :: else
            fi
        fi
    fi
}

/* Core::meets, for a guard of mine. */
inline meets(c, guard, other) {
    lock(c);
    if
    :: ended[c] == open && length[c] == 0 && reader[c] == NOBODY && writer[c] == NOBODY && other != NOBODY && other / 2 != me ->
        is_open = (state[other / 2] == waiting);
        if
        :: is_open && allowed[other] ->
            if
            :: me > other / 2 -> ready[guard] = true; has_found = true
            :: else -> mark_ready(other)
            fi
        :: else
        fi
    :: else
    fi;
    is_open = false;
    unlock(c)
}

#define LOCALS \
    byte what = 0; byte got = 0; byte number = 0; byte woken = 0; \
    bool is_open = false; bool is_taken = false; bool is_done = false; bool has_found = false; bool is_over = false

/* A party that reads ITEMS items from channel r and writes ITEMS to channel w, or only one of the two (NOBODY). */
proctype Alternation(byte me; byte r; byte w) {
    LOCALS;
    bool has_chosen = false;
    byte left_to_read = (r == NOBODY -> 0 : ITEMS);
    byte left_to_write = (w == NOBODY -> 0 : ITEMS);
    do
    :: left_to_read == 0 && left_to_write == 0 && slot[WRITES(me)] == 0 -> break
    :: else ->
        /* when, offer */
        d_step {
            allowed[READS(me)] = (left_to_read > 0);
            if
            :: left_to_write > 0 && slot[WRITES(me)] == 0 -> written[w]++; slot[WRITES(me)] = written[w]
            :: else
            fi;
            allowed[WRITES(me)] = (slot[WRITES(me)] != 0);
            has_chosen = false
        };
        do
        :: !has_chosen && ready[READS(me)] && allowed[READS(me)] ->
            ready[READS(me)] = false;
            lock(r);
            step_read(r);
            if
            :: what != 0 -> ready[READS(me)] = true; left_to_read--; has_chosen = true; what = 0
            :: else -> if :: ended[r] != open -> is_over = true; ready[READS(me)] = true :: else fi
            fi;
            unlock(r)
        :: !has_chosen && ready[WRITES(me)] && allowed[WRITES(me)] ->
            ready[WRITES(me)] = false;
            lock(w);
            step_write(w, slot[WRITES(me)]);
            if
            :: is_done -> slot[WRITES(me)] = 0; ready[WRITES(me)] = true; left_to_write--; has_chosen = true; is_done = false
            :: else -> if :: ended[w] != open -> is_over = true; ready[WRITES(me)] = true :: else fi
            fi;
            unlock(w)
        :: has_chosen || is_over -> break
        :: !has_chosen && !is_over && !(ready[READS(me)] && allowed[READS(me)]) && !(ready[WRITES(me)] && allowed[WRITES(me)]) ->
            d_step { wait_number[me] = (wait_number[me] + 1) % 4; state[me] = waiting };
            has_found = (ready[READS(me)] && allowed[READS(me)]) || (ready[WRITES(me)] && allowed[WRITES(me)]);
            if
            :: !has_found && allowed[READS(me)] -> meets(r, READS(me), write_guard[r])
            :: else
            fi;
            if
            :: !has_found && allowed[WRITES(me)] -> meets(w, WRITES(me), read_guard[w])
            :: else
            fi;
            if
            :: !has_found -> sleep_until(state[me] == poked || state[me] == claimed)
            :: else
            fi;
            has_found = false;
            /* stop_waiting */
            atomic { state[me] != taken;
                if
                :: state[me] == claimed ->
                    has_chosen = true;
                    if
                    :: claimed_guard[me] == READS(me) -> assert(slot[READS(me)] != 0); slot[READS(me)] = 0; left_to_read--
                    :: else -> assert(slot[WRITES(me)] == 0); left_to_write--
                    fi
                :: else
                fi;
                state[me] = looking; claimed_guard[me] = 0
            }
        od;
        if :: is_over -> break :: else -> progress: has_chosen = false fi
    od;
    if
    :: is_over && slot[WRITES(me)] != 0 -> d_step { slot[WRITES(me)] = 0; given_back[w]++ }
    :: else
    fi
}

proctype Reader(byte me; byte c) {
    LOCALS;
    byte left = ITEMS;
    do
    :: left == 0 || is_over -> break
    :: else ->
        lock(c);
        step_read(c);
        if
        :: what != 0 -> left--; what = 0; unlock(c)
        :: else ->
            if
            :: ended[c] != open -> is_over = true; unlock(c)
            :: else ->
                d_step { reader[c] = me; place[me] = queued };
                mark_ready(write_guard[c]);
                unlock(c);
                sleep_until(place[me] == served || place[me] == refused);
                d_step {
                    if
                    :: place[me] == served -> assert(slot[READS(me)] != 0); slot[READS(me)] = 0; left--
                    :: else -> is_over = true
                    fi;
                    place[me] = idle
                }
            fi
        fi;
        progress: skip
    od
}

proctype Writer(byte me; byte c) {
    LOCALS;
    byte left = ITEMS;
    do
    :: left == 0 || is_over -> break
    :: else ->
        written[c]++;
        lock(c);
        step_write(c, written[c]);
        if
        :: is_done -> left--; is_done = false; unlock(c)
        :: else ->
            if
            :: ended[c] != open -> is_over = true; given_back[c]++; unlock(c)
            :: else ->
                d_step { slot[WRITES(me)] = written[c]; writer[c] = me; place[me] = queued };
                mark_ready(read_guard[c]);
                unlock(c);
                sleep_until(place[me] == served || place[me] == refused);
                d_step {
                    if
                    :: place[me] == served -> assert(slot[WRITES(me)] == 0); left--
                    :: else -> assert(slot[WRITES(me)] != 0); slot[WRITES(me)] = 0; given_back[c]++; is_over = true
                    fi;
                    place[me] = idle
                }
            fi
        fi;
        progress: skip
    od
}

proctype Ender(byte me; byte c) {
    LOCALS;
    lock(c);
    if
    :: ended[c] = poisoned
    :: ended[c] = closed
    fi;
    d_step {
        if :: reader[c] != NOBODY -> place[reader[c]] = refused; woken = woken | (1 << reader[c]); reader[c] = NOBODY :: else fi;
        if :: writer[c] != NOBODY -> place[writer[c]] = refused; woken = woken | (1 << writer[c]); writer[c] = NOBODY :: else fi
    };
    mark_ready(read_guard[c]);
    mark_ready(write_guard[c]);
    d_step {
        if
        :: ended[c] == poisoned -> received[c] = received[c] + length[c]; length[c] = 0
        :: else
        fi
    };
    unlock(c)
}

#define READ_GUARD(c, party) read_guard[c] = READS(party)
#define WRITE_GUARD(c, party) write_guard[c] = WRITES(party)

#define IS_CONSERVED(c) (received[c] + length[c] + given_back[c] == written[c])

init {
    atomic {
#ifdef RING
        WRITE_GUARD(0, 0); READ_GUARD(0, 1);
        WRITE_GUARD(1, 1); READ_GUARD(1, 2 % PARTIES);
#if PARTIES == 3
        WRITE_GUARD(2, 2); READ_GUARD(2, 0);
        run Alternation(2, 1, 2);
#endif
        run Alternation(0, PARTIES - 1, 0); run Alternation(1, 0, 1)
#endif
#ifdef SHARED
        READ_GUARD(0, 1); WRITE_GUARD(1, 1); READ_GUARD(1, 2); WRITE_GUARD(2, 2);
        run Writer(0, 0); run Alternation(1, 0, 1); run Alternation(2, 1, 2); run Reader(3, 2);
#endif
#ifdef ENDING
        if :: WRITER == GUARD -> WRITE_GUARD(0, 0); run Alternation(0, NOBODY, 0) :: else -> run Writer(0, 0) fi;
        if :: READER == GUARD -> READ_GUARD(0, 1); run Alternation(1, 0, NOBODY) :: else -> run Reader(1, 0) fi;
        run Ender(2, 0)
#endif
    }
    /* All have ended: what was written was read, or given back, or is in a buffer. */
    (_nr_pr == 1);
    d_step {
        assert(IS_CONSERVED(0));
        assert(IS_CONSERVED(CHANNELS - 1));
        assert(IS_CONSERVED(CHANNELS / 2))
    }
}
