// arc4random, which glibc has since 2.36: C++'s library, linked into a wheel, would want it there for
// std::random_device (Boost.Beast has one).
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

extern "C" std::uint32_t arc4random() noexcept {
    std::uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        std::abort();  // it cannot fail, and has no way to say so
    return number;
}
