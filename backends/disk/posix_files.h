// PosixFiles: BlockFiles by the ordinary calls of Linux: pread and pwrite on a few threads of each
// queue, past the page cache (O_DIRECT) if the file system supports that.
//
// FileIds are file descriptors; all are closed on exec. Thread-safety and errors: as BlockFiles.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/tiers/disk/block_files.h"

namespace tidemark {

// Whether transfers go past the page cache.
enum class PageCache : std::uint8_t {
    avoid,  // if the file system has direct transfers
    use,    // always, as for a file system without them
};

class PosixFiles : public BlockFiles {
  public:
    explicit PosixFiles(PageCache cache = PageCache::avoid) : cache_(cache) {}

    std::string_view name() const override { return "posix"; }

    FileResult<OpenFile> create_scratch(const std::string& directory) override;
    FileResult<void> close(FileId file) override;
    FileResult<void> allocate(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> release(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> sync(FileId file) override;
    FileResult<void> forget(FileId file) override;
    FileResult<Bytes> free_space(const std::string& directory) override;
    std::unique_ptr<BlockQueue> make_queue(unsigned depth) override;

  private:
    PageCache cache_;
};

}  // namespace tidemark
