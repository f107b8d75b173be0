/* Memory for C++, and the exception if there is none. */
#include <cstdlib>
#include <new>

void std::__throw_bad_alloc() { throw std::bad_alloc(); }

void *operator new(std::size_t bytes) {
    void *memory;
    while (!(memory = std::malloc(bytes ? bytes : 1))) {
        std::new_handler handler = std::get_new_handler();
        if (!handler)
            std::__throw_bad_alloc();
        handler();
    }
    return memory;
}

void *operator new[](std::size_t bytes) { return operator new(bytes); }
