// Content for buffers on disk, told apart by a seed, and the short forms that tests store and read
// it with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tiers/disk/disk_store.h"

namespace tidemark::support {

constexpr BufferId kOne{1};
constexpr BufferId kTwo{2};

// The same bytes for the same seed. O(size).
std::vector<std::byte> content_of(std::uint64_t seed, Bytes size);

Result<void> store(DiskStore& store, BufferId id, const std::vector<std::byte>& content);

// All of a stored buffer; an error when it is not there or cannot be read.
Result<std::vector<std::byte>> load(DiskStore& store, BufferId id);

// "" or what is wrong.
std::string difference(DiskStore& store, BufferId id, const std::vector<std::byte>& expected);

// Options for directories of that name, small chunks and one worker: the same calls in each run.
DiskStoreOptions small_options(const std::vector<std::string>& directories);

}  // namespace tidemark::support
