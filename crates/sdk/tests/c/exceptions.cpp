/* Exceptions, and the types of objects at run time. The last exception is not caught. */
#include <iostream>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

struct Named {
    std::string name;
    explicit Named(const char *name) : name(name) {}
    ~Named() { std::cout << "end of " << name << '\n'; }
};

struct First {
    int first;
    First() : first(1) {}
    virtual ~First() {}
};
struct Second {
    int second;
    Second() : second(2) {}
    virtual ~Second() {}
};
struct Both : First, Second {};

class Refused : public std::runtime_error {
public:
    explicit Refused(const std::string &why) : std::runtime_error(why) {}
};

static int deep(int levels) {
    Named named("a level");
    if (levels == 0)
        throw Refused("too deep");
    return deep(levels - 1) + 1;
}

/* Its destructor throws an exception, and catches it, while another one is on its way. */
struct Caught {
    ~Caught() {
        try {
            throw Refused("another one");
        } catch (const Refused &) {
        }
    }
};

static void only_ints() throw(int) { throw 5; }

/* Each of two threads has its own exceptions on their way. */
static void *throws(void *number) {
    long caught = 0;
    for (int i = 0; i < 20; i++)
        try {
            try {
                throw (long)number;
            } catch (long) {
                sched_yield();
                throw;
            }
        } catch (long mine) {
            caught += mine == (long)number;
        }
    return (void *)caught;
}

int main() {
    try {
        deep(1);
    } catch (const std::exception &e) {
        std::cout << e.what() << ' ' << (dynamic_cast<const Refused *>(&e) != 0) << '\n';
    }
    try {
        std::vector<int>(3).at(7) = 1;
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }
    try {
        std::string("abc").substr(10);
    } catch (const std::logic_error &) {
        std::cout << "out of the string\n";
    }
    try {
        throw Both();
    } catch (const Second &s) {
        std::cout << "second " << s.second << '\n';
    }
    try {
        Both both;
        throw &both;
    } catch (Second *s) {
        std::cout << "pointer to second " << (s != 0) << '\n';
    }
    try {
        only_ints();
    } catch (const char *) {
        std::cout << "wrong\n";
    } catch (int i) {
        std::cout << "int " << i << '\n';
    }
    try {
        dynamic_cast<Both &>(static_cast<First &>(*new First)).second = 3;
    } catch (const std::bad_cast &) {
        std::cout << "bad cast\n";
    }
    First *first = new Both;
    std::cout << dynamic_cast<Second *>(first)->second << (typeid(*first) == typeid(Both)) << '\n';

    pthread_t thread[2];
    void *caught[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, throws, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], &caught[i]);
    std::cout << (long)caught[0] << ' ' << (long)caught[1] << std::endl;

    Named last("main");
    Caught caught_in_time;
    throw Refused("nobody listens"); /* the line */
}
