// SlowDisk: files without content on a disk whose speed is known, on a clock of its own.
//
// A transfer keeps its direction busy for size / bandwidth, whoever is in flight beside it, and has
// completed `latency` later; with `shared`, both directions are one. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/tiers/disk/block_files.h"

namespace tidemark::support {

struct SlowDiskSpec {
    double write = 1e9;  // bytes per second
    double read = 2e9;
    bool shared = false;
    Nanoseconds latency = 50'000;
    Nanoseconds sync = 0;
    Bytes alignment = kFileBlock;  // 1: no direct transfers
    bool forgets = true;           // the page cache, when it is asked to
    Bytes space = 100_GiB;
};

class SlowDisk : public BlockFiles {
  public:
    explicit SlowDisk(const SlowDiskSpec& spec = {}) : spec_(spec) {}

    Nanoseconds now() const { return now_; }

    std::size_t open_files() const { return open_.size(); }

    std::uint64_t transfers() const { return transfers_; }

    std::uint64_t forgotten() const { return forgotten_; }

    // What a transfer answers, by its number from 1 on: an errno value or 0.
    std::function<int(std::uint64_t number)> script;

    std::string_view name() const override { return "slow"; }

    FileResult<OpenFile> create_scratch(const std::string& directory) override;
    FileResult<void> close(FileId file) override;
    FileResult<void> allocate(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> release(FileId file, Bytes offset, Bytes size) override;
    FileResult<void> sync(FileId file) override;
    FileResult<void> forget(FileId file) override;
    FileResult<Bytes> free_space(const std::string& directory) override;
    std::unique_ptr<BlockQueue> make_queue(unsigned depth) override;

  private:
    friend class SlowQueue;

    SlowDiskSpec spec_;
    Nanoseconds now_ = 0;
    Nanoseconds busy_[2] = {0, 0};
    std::map<FileId, Bytes> open_;
    std::uint32_t next_ = 0;
    std::uint64_t transfers_ = 0;
    std::uint64_t forgotten_ = 0;
};

}  // namespace tidemark::support
