// NameTables: what the ids in records mean: strings, stacks, sites and streams of all rings of a
// program, in the tables of a trace or a history. Ids that were never defined mean nothing: their
// definition was lost. Memory O(names). Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/live/wire.h"
#include "traces/model/tables.h"

namespace tidemark::live {

// Who allocates, in the dense numbers of the tables.
struct Named {
    std::uint32_t tag = 0;    // of the strings
    std::uint32_t stack = 0;  // of the stacks
    std::uint32_t pool = 0;   // of pools()
};

// A fact about a program, or a setting of its allocator; dense numbers of the strings.
struct NamedSetting {
    std::uint32_t key = 0;
    std::uint32_t value = 0;
    bool of_allocator = false;
};

class NameTables {
  public:
    // Both must outlive it.
    NameTables(StringTable& strings, StackTable& stacks) : strings_(strings), stacks_(stacks) {}

    // Adds a name with its payload; `slots` starts with its record. O(length).
    void define(std::span<const Record> slots);

    std::uint32_t string(std::uint64_t id) const;

    Named site(std::uint32_t id) const;

    // The dense number of the stream of a record: 0 is the default stream.
    std::uint32_t stream(const Record& record) const;

    // The program's handles by dense number.
    const std::vector<std::uint64_t>& streams() const { return streams_; }

    // The program's pools by dense number; [0] is the default pool.
    const std::vector<std::uint32_t>& pools() const { return pools_; }

    // Each key once, in order of appearance; the last value counts.
    const std::vector<NamedSetting>& settings() const { return settings_; }

  private:
    using Ids = std::unordered_map<std::uint64_t, std::uint32_t>;

    void define_stack(std::span<const Record> slots);
    void define_setting(const Record& record);

    StringTable& strings_;
    StackTable& stacks_;
    Ids string_ids_;
    Ids stack_ids_;
    std::unordered_map<std::uint32_t, Named> sites_;
    Ids stream_ids_;  // ring << 16 | number
    Ids stream_handles_;
    Ids pool_numbers_;
    std::vector<std::uint64_t> streams_{0};
    std::vector<std::uint32_t> pools_{0};
    std::vector<NamedSetting> settings_;
};

}  // namespace tidemark::live
