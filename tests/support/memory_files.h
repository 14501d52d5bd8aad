// MemoryFiles: scratch files in memory that do as their test wants: fail at the n-th call, cut
// transfers short, interrupt them, complete them in another order.
//
// Thread-safe. Direct transfers are wanted with the alignment that it is given, and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark::support {

enum class FileCall : std::uint8_t { create, close, allocate, release, sync, read, write };

class MemoryFiles : public BlockFiles {
  public:
    // `alignment`: of direct transfers; 1 for none.
    explicit MemoryFiles(Bytes alignment = kFileBlock, std::uint64_t seed = 1)
        : alignment_(alignment), random_(seed) {}

    // Makes an empty directory, with so much space.
    void add_directory(const std::string& path, Bytes space = Bytes{1} << 40U);

    // What a call answers: an errno value or 0. Asked at each call, under the lock, with the
    // directory and the number of the call, from 1 on.
    using Script =
        std::function<int(FileCall call, const std::string& directory, std::uint64_t number)>;
    void set_script(Script script);

    // Every `one_in`-th transfer or so moves a part only, or is interrupted; 0: none.
    void set_short(unsigned one_in);
    void set_interrupted(unsigned one_in);

    // Calls so far.
    std::uint64_t calls() const;

    // The content of the last file made in a directory, to look at and to change.
    std::vector<std::byte>& content(const std::string& directory);

    std::size_t open_files() const;

    // Space that its files have.
    Bytes bytes_in(const std::string& directory) const;

    std::string_view name() const override { return "memory"; }

    FileResult<OpenFile> create_scratch(const std::string& directory) override;
    FileResult<void> close(FileId file) override;
    FileResult<void> allocate(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> release(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> sync(FileId file) override;
    FileResult<Bytes> free_space(const std::string& directory) override;
    std::unique_ptr<BlockQueue> make_queue(unsigned depth) override;

  private:
    friend class MemoryQueue;

    struct File {
        std::string directory;
        std::vector<std::byte> content;
        std::set<Bytes> blocks;  // that have space, by their offsets
    };

    std::optional<FileError> refuse(FileCall call, const std::string& directory);
    Bytes used(const std::string& directory) const;
    BlockCompletion transfer(const BlockTransfer& transfer);
    Bytes move(const BlockTransfer& transfer, File& file, Bytes size);

    const Bytes alignment_;
    mutable std::mutex lock_;
    Random random_;
    Script script_;
    unsigned short_one_in_ = 0;
    unsigned interrupted_one_in_ = 0;
    std::uint64_t calls_ = 0;
    std::map<std::string, Bytes> directories_;  // their space
    std::map<FileId, File> files_;
    std::uint32_t next_ = 1;
};

}  // namespace tidemark::support
