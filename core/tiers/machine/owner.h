// OwnerId: the owner of memory and of requests that wait for it: a stream, a thread, a task of the
// program. The program names its owners; reports show them.
#pragma once

#include <cstdint>

namespace tidemark {

enum class OwnerId : std::uint64_t { nobody = 0 };

constexpr std::uint64_t to_integer(OwnerId id) {
    return static_cast<std::uint64_t>(id);
}

}  // namespace tidemark
