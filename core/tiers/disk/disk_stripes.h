// StripeFiles: the files of one buffer while they are open: created and written, or opened and
// read. Turns what fails into an Error that names file and offset, and says in which stripe.
//
// Whatever happens, no file stays open when the object ends. It removes nothing by itself: the
// files that it created are for its owner to remove. Thread-safety: write_chunks
// may be called from several threads for different chunks; else none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "core/base/result.h"
#include "core/tiers/disk/block_files.h"
#include "core/tiers/disk/disk_chunks.h"
#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_store.h"

namespace tidemark {

struct StripeFailure {
    Error error;
    std::uint32_t stripe = 0;
};

using StripeResult = tl::expected<void, StripeFailure>;

// "path/name" of a stripe's file.
std::string spill_path(const std::string& directory, SpillName name);

// What a failed call means to a person: no_space for ENOSPC and EDQUOT, else io.
Error file_error(FileError error, const std::string& action, const std::string& path);

// A transfer's fault in the file `path`: bad_input for a damaged file, else as file_error.
Error chunk_error(const ChunkFault& fault, bool writing, const std::string& path);

class StripeFiles {
  public:
    // `paths`: one for each stripe.
    StripeFiles(BlockFiles& files, StripeLayout layout, std::vector<std::string> paths);
    ~StripeFiles();

    StripeFiles(const StripeFiles&) = delete;
    StripeFiles& operator=(const StripeFiles&) = delete;

    const std::vector<std::string>& paths() const { return paths_; }

    // Whether a stripe's file is one that `create` has made.
    bool created(std::uint32_t stripe) const { return stripe < created_; }

    // Creates every file, with its space. After a failure some may be there: created().
    StripeResult create();

    // Opens every file for reading.
    StripeResult open();

    // As ChunkIo.
    StripeResult write_chunks(ChunkIo& io, std::uint64_t first, std::span<const MemoryPiece> source,
                              std::span<std::uint64_t> checksums);
    StripeResult read(ChunkIo& io, std::span<const std::uint64_t> checksums, Bytes offset,
                      std::span<const MemoryPiece> target);
    StripeResult verify(ChunkIo& io, std::span<const std::uint64_t> checksums);

    // Writes the heads, the first file's last, syncs if wanted, and closes the files: the buffer is
    // stored. `head` has the identity; its stripe and checksums are filled in from those of the
    // whole buffer.
    StripeResult seal(ChunkIo& io, SpillHead head, std::span<const std::uint64_t> checksums,
                      SyncPolicy sync);

    // Closes what is open.
    StripeResult close();

  private:
    StripeResult report(const ChunkResult& result, bool writing) const;
    StripeResult sync_all();
    tl::unexpected<StripeFailure> failure(FileError error, const std::string& action,
                                          std::uint32_t stripe) const;

    BlockFiles& files_;
    OpenStripes open_;
    std::vector<std::string> paths_;
    std::uint32_t created_ = 0;
};

}  // namespace tidemark
