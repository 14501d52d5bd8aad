// What a store does with its directories when it opens them: takes their locks, and removes or
// takes over what dead processes left there.
//
// A file belongs to a store by its name (disk_format.h); nothing else in a directory is touched. It
// is whole if its head is valid, its size is that which the head says, and every chunk has its
// checksum; a buffer is whole if all its files are. Of several whole buffers of one id the latest
// counts. What cannot be read, which is not the same as damaged, is left alone and reported. Cost
// of `recover`: reading every byte that was left.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tiers/disk/disk_chunks.h"
#include "core/tiers/disk/disk_space.h"
#include "core/tiers/disk/disk_store.h"

namespace tidemark {

// A buffer in its files.
struct StoredBuffer {
    BufferId id{};
    std::uint64_t tag = 0;
    std::uint64_t sequence = 0;
    FilePlacement placement;
    std::vector<std::uint64_t> checksums;  // of its chunks
};

struct LeftFile {
    StrandedFile file;
    Error error;
};

struct OpenedDirectories {
    DiskOpenReport report;
    std::vector<bool> usable;             // one a directory
    std::vector<FileId> locks;            // held
    std::vector<StoredBuffer> buffers;    // taken over, by id
    std::vector<LeftFile> stay;           // files that would not go: to be tried again
    std::vector<StrandedFile> untouched;  // incomplete, unreadable: they count
    std::uint64_t next_sequence = 0;      // above every name that was found
};

// Never fails as a whole: what is wrong is in the report. `directories` have no '/' at their end.
OpenedDirectories open_directories(BlockFiles& files, const DiskStoreOptions& options, ChunkIo& io);

}  // namespace tidemark
