// The short calls of `fork_join.rs` as a C++ programmer writes them, with OpenMP and oneTBB on two
// threads. Each function returns the nanoseconds for one call, of 1,000.

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <omp.h>

namespace {

// Takes `count` steps, each of which needs the one before.
[[gnu::noinline]] uint64_t steps(uint64_t count) {
    uint64_t x = 1;
    for (uint64_t step = 0; step < count; step++) {
        x = (x ^ (x >> 29)) * 6364136223846793005u;
    }
    return x;
}

void work(uint64_t count) {
    uint64_t x = steps(count);
    asm volatile("" : : "r"(x));
}

template <typename Call> double calls(Call call) {
    constexpr int CALLS = 1000;
    call();
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < CALLS; i++) {
        call();
    }
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / CALLS;
}

// Ends the threads of OpenMP afterwards, which would spin while other systems are measured.
template <typename Call> double with_openmp(Call call) {
    omp_set_num_threads(2);
    double ns = calls(call);
    omp_pause_resource_all(omp_pause_hard);
    return ns;
}

struct Numbers {
    std::vector<float> x, y;
    explicit Numbers(uint64_t count) : x(count, 1.0f), y(count, 2.0f) {}
};

} // namespace

extern "C" double openmp_join(uint64_t half) {
    return with_openmp([=] {
#pragma omp parallel sections
        {
#pragma omp section
            work(half);
#pragma omp section
            work(half);
        }
    });
}

extern "C" double openmp_closures(uint64_t eighth) {
    return with_openmp([=] {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 8; i++) {
#pragma omp task
            work(eighth);
        }
    });
}

extern "C" double openmp_items(uint64_t item) {
    return with_openmp([=] {
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < 16; i++) {
            work(item);
        }
    });
}

extern "C" double openmp_axpy(uint64_t count) {
    Numbers n(count);
    float *y = n.y.data();
    const float *x = n.x.data();
    return with_openmp([=] {
#pragma omp parallel for
        for (uint64_t i = 0; i < count; i++) {
            y[i] += 0.5f * x[i];
        }
    });
}

#ifdef WITH_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

template <typename Call> double with_tbb(Call call) {
    tbb::task_arena arena(2);
    return arena.execute([&] { return calls(call); });
}

extern "C" double tbb_join(uint64_t half) {
    return with_tbb([=] { tbb::parallel_invoke([=] { work(half); }, [=] { work(half); }); });
}

extern "C" double tbb_closures(uint64_t eighth) {
    return with_tbb([=] {
        tbb::task_group group;
        for (int i = 0; i < 8; i++) {
            group.run([=] { work(eighth); });
        }
        group.wait();
    });
}

extern "C" double tbb_items(uint64_t item) {
    return with_tbb([=] { tbb::parallel_for(0, 16, [=](int) { work(item); }); });
}

extern "C" double tbb_axpy(uint64_t count) {
    Numbers n(count);
    float *y = n.y.data();
    const float *x = n.x.data();
    return with_tbb([=] {
        tbb::parallel_for(tbb::blocked_range<uint64_t>(0, count), [=](const auto &range) {
            for (uint64_t i = range.begin(); i < range.end(); i++) {
                y[i] += 0.5f * x[i];
            }
        });
    });
}
#endif
