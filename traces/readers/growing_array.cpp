// Pages in bulk.
#include "traces/readers/growing_array.h"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tidemark {

void provide_pages(void* begin, std::size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
    constexpr std::uintptr_t kPage = 4096;  // larger pages make the call fail, which does no harm
    const auto first = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) / kPage * kPage;
    const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / kPage * kPage;
    if (last > first)
        static_cast<void>(
            ::madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE));
#else
    static_cast<void>(begin);
    static_cast<void>(bytes);
#endif
}

}  // namespace tidemark
