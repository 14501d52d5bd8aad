// Blocks by mmap and mremap above kLarge, by realloc below.
#include "traces/io/growing_block.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20U;
constexpr std::size_t kLarge = kHugePage;

// Whole huge pages, so that the system can align them: aligned ones are moved without copying.
constexpr std::size_t mapped_size(std::size_t bytes) {
    return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

void* grow_mapping(void* block, std::size_t before, std::size_t bytes) {
    void* const grown =
        before >= kLarge ? ::mremap(block, mapped_size(before), mapped_size(bytes), MREMAP_MAYMOVE)
                         : ::mmap(nullptr, mapped_size(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (grown == MAP_FAILED)
        throw std::bad_alloc();
    ::madvise(grown, mapped_size(bytes), MADV_HUGEPAGE);  // a hint: small pages work as well
    if (before != 0 && before < kLarge) {
        std::memcpy(grown, block, before);
        std::free(block);
    }
    return grown;
}

}  // namespace

void* resize_block(void* block, std::size_t before, std::size_t bytes) {
    if (bytes >= kLarge)
        return grow_mapping(block, before, bytes);
    if (before >= kLarge) {
        TM_CHECK(bytes == 0);
        TM_CHECK(::munmap(block, mapped_size(before)) == 0);
        return nullptr;
    }
    if (bytes == 0) {
        std::free(block);
        return nullptr;
    }
    void* const grown = std::realloc(block, bytes);
    if (grown == nullptr)
        throw std::bad_alloc();
    return grown;
}

}  // namespace tidemark
