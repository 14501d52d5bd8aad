// ScratchFiles: where the bytes of a DiskStore are: one file without a name in each of its
// directories, and which parts of them are in use.
//
// A file without a name ends with its process, however that ends: nothing is left behind and
// nothing has to be cleaned up. Released parts are returned to the disk immediately if its file
// system can do that, and later extents reuse them in any case. A directory that refused is skipped
// while others have room.
//
// Thread-safe. No lock is held while a file is touched.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

// A part of a scratch file; offset and size are multiples of kFileBlock.
struct ScratchExtent {
    std::uint32_t directory = 0;  // by its position in the list
    Bytes offset = 0;
    Bytes size = 0;
};

// A failed call as an Error for a person: no_space for ENOSPC and EDQUOT, else io.
Error file_error(FileError error, const std::string& action, const std::string& where);

// The free parts of one file; behind its end everything is free. Not thread-safe.
class FreeExtents {
  public:
    // The smallest part that is large enough, or one at the end. O(log parts).
    Bytes take(Bytes size);

    // Joined with its neighbours. O(log parts).
    void give(Bytes offset, Bytes size);

  private:
    void insert(Bytes offset, Bytes size);
    void erase(std::map<Bytes, Bytes>::iterator part);

    std::map<Bytes, Bytes> by_offset_;           // sizes
    std::set<std::pair<Bytes, Bytes>> by_size_;  // with their offsets
    Bytes end_ = 0;
};

class ScratchFiles {
  public:
    // `files` must outlive it. No file yet.
    explicit ScratchFiles(BlockFiles& files) : files_(files) {}

    // Every extent must have been released.
    ~ScratchFiles();

    ScratchFiles(const ScratchFiles&) = delete;
    ScratchFiles& operator=(const ScratchFiles&) = delete;

    // Makes a file in the directory; not thread-safe. Errors: io, no_space.
    Result<void> add(const std::string& directory);

    std::size_t directories() const { return scratch_.size(); }

    const std::string& directory(std::uint32_t index) const { return scratch_[index].directory; }

    const OpenFile& file(std::uint32_t index) const { return scratch_[index].file; }

    // Space on the disk, in the directories in turn. Errors: that of the first directory, if all
    // refuse: no_space, io.
    Result<ScratchExtent> allocate(Bytes size);

    void release(const ScratchExtent& extent);

    // The result of a write there.
    void note(std::uint32_t directory, bool worked);

    // Bytes that are taken. O(1).
    Bytes used() const;

  private:
    struct Scratch {
        std::string directory;
        OpenFile file;
        FreeExtents free = {};
        bool full = false;    // had no space last time; reset when something is released
        bool failed = false;  // the last write there failed
    };

    FileResult<ScratchExtent> allocate_in(std::uint32_t directory, Bytes size);
    std::vector<std::uint32_t> turns();

    BlockFiles& files_;
    // guards everything except directories and files, which do not change
    mutable std::mutex lock_;
    std::vector<Scratch> scratch_;
    std::uint32_t next_ = 0;
    Bytes used_ = 0;
};

}  // namespace tidemark
