// LiveSet: what is live in a program after the records so far, and every name. Each segment of a
// recording starts with it, so that a reader may start there. Memory O(live + names). Of the open
// ranges only the last kMostOpenRanges are kept: a program that never ends ranges would otherwise
// have more and more of them. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// Of ranges that have begun and not ended, the last this many are known.
constexpr std::size_t kMostOpenRanges = 1024;

class LiveSet {
  public:
    // `slots`: records in order, with their payloads. O(slots).
    void add(std::span<const Record> slots);

    // Names first, then segments, blocks and ranges, as the records of a snapshot.
    std::vector<Record> snapshot() const;

  private:
    void add_event(const Record& record);
    void allocate(const Record& record);
    void free(const Record& record);
    void retire(const Record& record);
    void cut_mappings(const Record& record);
    void change_segment(const Record& record);

    static std::uint64_t key(const Record& record) {
        return record.address ^ (static_cast<std::uint64_t>(record.device) << 56U);
    }

    struct OpenRange {
        Record record;
        std::string name;
    };

    void add_name(std::span<const Record> slots);
    void begin_range(const Record& record);
    void end_range(const Record& record);
    std::string name_of(const Record& range) const;

    std::vector<Record> names_;  // with payloads, except temporary ones
    // with payloads, except temporary ones
    std::unordered_map<std::uint64_t, std::size_t> strings_;
    std::map<std::uint32_t, std::vector<Record>> passing_names_;  // the last of each ring, by id
    HashIndex block_slots_;                                       // of blocks_, by key
    VacantIds slots_;
    std::vector<Record> blocks_;                                         // kind none: vacant
    std::map<std::pair<std::uint8_t, std::uint64_t>, Record> segments_;  // by device and address
    std::map<std::pair<std::uint8_t, std::uint64_t>, Record> mappings_;
    std::vector<OpenRange> ranges_;  // in order of their start
};

}  // namespace tidemark::live
