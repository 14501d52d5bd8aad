// OwnerId: on whose account memory is held and waited for: a stream, a thread, a task of the
// program. The program names its owners; reports say them.
#pragma once

#include <cstdint>

namespace tidemark {

enum class OwnerId : std::uint64_t { nobody = 0 };

constexpr std::uint64_t to_integer(OwnerId id) {
    return static_cast<std::uint64_t>(id);
}

}  // namespace tidemark
