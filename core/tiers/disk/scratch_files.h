// ScratchFiles: where the bytes of a DiskStore lie: in one file without a name for each of its
// directories, and which parts of them are taken.
//
// A file that has no name ends with its process, however that ends: nothing is left behind and
// nothing has to be cleaned up. What is released goes back to the disk at once where its file
// system can do that, and is used again by later ones in any case. A directory that refused is
// passed over while others have room.
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
    std::uint32_t directory = 0;  // by its place in the list
    Bytes offset = 0;
    Bytes size = 0;
};

// What a failed call means to a person: no_space for ENOSPC and EDQUOT, else io.
Error file_error(FileError error, const std::string& action, const std::string& where);

// The parts of one file that are free; behind its end all is. Not thread-safe.
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

    // Every extent has been released.
    ~ScratchFiles();

    ScratchFiles(const ScratchFiles&) = delete;
    ScratchFiles& operator=(const ScratchFiles&) = delete;

    // Makes a file in the directory; not thread-safe. Errors: io, no_space.
    Result<void> add(const std::string& directory);

    std::size_t directories() const { return scratch_.size(); }

    const std::string& directory(std::uint32_t index) const { return scratch_[index].directory; }

    const OpenFile& file(std::uint32_t index) const { return scratch_[index].file; }

    // Space on the disk, in the directories by turns. Errors: what the first of them says, when all
    // refuse: no_space, io.
    Result<ScratchExtent> allocate(Bytes size);

    void release(const ScratchExtent& extent);

    // How a write there went.
    void note(std::uint32_t directory, bool worked);

    // Bytes that are taken. O(1).
    Bytes used() const;

  private:
    struct Scratch {
        std::string directory;
        OpenFile file;
        FreeExtents free = {};
        bool full = false;    // had no space the last time: over when something is released
        bool failed = false;  // the last write there did
    };

    FileResult<ScratchExtent> allocate_in(std::uint32_t directory, Bytes size);
    std::vector<std::uint32_t> turns();

    BlockFiles& files_;
    mutable std::mutex lock_;  // of all but directories and files, which do not change
    std::vector<Scratch> scratch_;
    std::uint32_t next_ = 0;
    Bytes used_ = 0;
};

}  // namespace tidemark
