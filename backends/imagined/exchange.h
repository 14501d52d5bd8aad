// Exchange: what ranks that run at the same time give to each other: ids, keys of a store, and
// small messages whose content is known. A folder on the host holds them, a file each.
//
// A rank may wait for something that never comes: another one ended, or does something else than on
// a card. So a wait ends when nothing can come any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/imagined/settings.h"

namespace tidemark::imagined {

class Exchange {
  public:
    static constexpr int kAnybody = -1;
    static constexpr std::size_t kLargest = std::size_t{64} << 10;  // of messages, in bytes

    using Bytes = std::vector<std::byte>;

    explicit Exchange(const Settings::Ranks& ranks);

    // Of this process; nullptr if it runs alone.
    static Exchange* get();

    // Leaves `content` under `name`, for all ranks. Replaces what was left there before.
    // Thread-safe. Errors of the file system: then nobody gets it.
    void put(std::string_view name, std::span<const std::byte> content);

    // Waits until there is something under `name`. Nothing if rank `from` (or, of kAnybody, every
    // other rank) ended without having left it, if every rank that runs is waiting, or after two
    // minutes. Thread-safe.
    std::optional<Bytes> take(std::string_view name, int from);

    int rank() const { return ranks_.rank; }

  private:
    std::filesystem::path file(std::string_view name) const;
    bool ended(int rank) const;
    bool can_come(int from) const;
    // Of each other rank that runs: how often it has waited, if it waits now. Nothing if one works.
    std::optional<std::vector<std::string>> waits() const;

    Settings::Ranks ranks_;
    std::atomic<bool> alone_ = false;  // nothing came for two minutes: don't wait again
};

}  // namespace tidemark::imagined
