// The index of a .tmk file: where each chunk is and which events and times it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "traces/tmk/wire.h"

namespace tidemark::tmk {

struct IndexEntry {
    std::uint64_t offset = 0;  // of the chunk's block in the file
    std::uint64_t size = 0;    // of the whole block
    std::uint64_t first_event = 0;
    std::uint32_t count = 0;
    std::uint32_t zero = 0;
    Nanoseconds first_time = 0;
    Nanoseconds last_time = 0;
    std::uint64_t content_hash = 0;
};

static_assert(sizeof(IndexEntry) == 56);

struct Index {
    std::uint64_t info_offset = 0;
    std::vector<IndexEntry> chunks;
};

ByteWriter encode_index(const Index& index);

// False if it does not fit together or points outside the first `end` bytes of the file.
bool decode_index(std::span<const std::byte> payload, std::uint64_t end, Index& index);

// The hash of a trace: of its chunks' content and of what the info block says about its meaning.
std::uint64_t content_hash(const Index& index, std::uint64_t info_hash);

}  // namespace tidemark::tmk
