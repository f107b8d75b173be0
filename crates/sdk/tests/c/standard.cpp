/* What programs of the PPU use of the library of C++: they prepare data for an SPE, and print its
   results. */
#include <libspe2.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

extern "C" spe_program_handle_t standard_spu;

/* An SPE that squares numbers. */
class Squares {
public:
    Squares() : context(spe_context_create(0, NULL)) {
        spe_program_load(context, &standard_spu);
    }
    ~Squares() {
        spe_context_destroy(context);
        std::cout << "the SPE is free" << std::endl;
    }
    void operator()(int *numbers, unsigned count) {
        unsigned entry = SPE_DEFAULT_ENTRY;
        spe_context_run(context, &entry, 0, numbers, (void *)count, NULL);
    }

private:
    spe_context_ptr_t context;
};

static bool is_odd(int number) { return number % 2; }

int main() {
    std::vector<int> numbers;
    for (int i = 0; i < 32; i++)
        numbers.push_back((i * 7) % 32);
    std::sort(numbers.begin(), numbers.end());

    int aligned[32] __attribute__((aligned(128)));
    std::copy(numbers.begin(), numbers.end(), aligned);
    {
        std::auto_ptr<Squares> squares(new Squares);
        (*squares)(aligned, 32);
    }
    std::copy(aligned, aligned + 6, std::ostream_iterator<int>(std::cout, " "));
    std::cout << std::accumulate(aligned, aligned + 32, 0) << ' '
              << std::count_if(aligned, aligned + 32, is_odd) << '\n';
    std::printf("printf and cout in turn\n");

    std::istringstream text("spe ppe spe eib spe ppe");
    std::map<std::string, std::vector<int> > words;
    std::string word;
    for (int at = 0; text >> word; at++)
        words[word].push_back(at);
    std::map<std::string, std::vector<int> >::const_iterator it;
    for (it = words.begin(); it != words.end(); ++it)
        std::cout << std::setw(5) << it->first << ':' << it->second.size() << " first at "
                  << it->second.front() << std::endl;

    std::ostringstream made;
    made << std::fixed << std::setprecision(3) << 3.14159 << std::hex << std::setfill('0')
         << std::setw(8) << 0xbeef << std::boolalpha << true;
    std::cout << made.str() << ' ' << made.str().find("beef") << std::endl;
    std::set<char> letters(word.begin(), word.end());
    std::cout << std::string(letters.begin(), letters.end()) << std::endl;

    std::ifstream processors("/proc/cpuinfo");
    processors >> word;
    std::cout << word << std::endl;
    return 3;
}
