// Blocks by realloc only, for systems that can't move mappings (browsers).
#include <cstdlib>
#include <new>

#include "traces/io/growing_block.h"

namespace tidemark {

void* resize_block(void* block, std::size_t /*before*/, std::size_t bytes) {
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
