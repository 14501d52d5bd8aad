// RingNames: the strings, stacks, sites and streams that the threads of one ring have used so far,
// each defined in the ring before the first record that uses it. One thread at a time.
//
// A program that keeps making new names fills the budget that all rings share. From then on new
// names become kTooManyNames: memory stays bounded, and nothing gets another's name. Texts of marks
// and ranges are kept only while half of the budget is left, and defined at each use afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"
#include "traces/live/live_frame.h"
#include "traces/live/ring_writer.h"

namespace tidemark::live {

constexpr std::string_view kTooManyNames = "(too many names)";

// Bytes that the definitions of all rings may take in a recording; in memory they take two to five
// times as much. Thread-safe.
class NameBudget {
  public:
    explicit NameBudget(Bytes bytes) : half_(bytes / 2), left_(bytes) {}

    // False: not enough is left.
    bool take(Bytes bytes);

    void give_back(Bytes bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

    bool is_half_spent() const { return left_.load(std::memory_order_relaxed) < half_; }

  private:
    const Bytes half_;
    std::atomic<Bytes> left_;
};

class RingNames {
  public:
    // `writer` and `budget` must outlive it; `ring` is its number.
    RingNames(RingWriter& writer, NameBudget& budget, std::uint32_t ring)
        : writer_(writer), budget_(budget), nothing_(ring << kNumberBits) {}

    // The id of the argument, defined now if it is new. If the ring has no room for it: nothing().
    // O(length), but O(length log names) for new ones.
    std::uint32_t string(std::string_view text);
    std::uint32_t stack(std::span<const LiveFrame> frames);
    std::uint32_t site(std::uint32_t tag, std::uint32_t stack, PoolId pool);

    // The same for the text of the very next record. is_passing(id): valid only for that one.
    std::uint32_t passing_string(std::string_view text);

    static bool is_passing(std::uint32_t id) { return (id & kPassingNumber) == kPassingNumber; }

    // The number of a stream of the program, by its handle; a ring has 65,535. 0 for the default
    // stream, and if there is no room or number.
    std::uint16_t stream(std::uint64_t handle);

    // A fact about the program or its allocator. False: the ring has no room for it.
    bool setting(std::string_view key, std::string_view value, bool of_allocator);

    std::uint32_t nothing() const { return nothing_; }

  private:
    struct TextHash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    struct Site {
        std::uint32_t tag = 0;
        std::uint32_t stack = 0;
        PoolId pool = PoolId::default_pool;

        friend auto operator<=>(const Site&, const Site&) = default;
    };

    static Record record_of(const Site& site) {
        return {.address = site.tag,
                .size = site.stack,
                .extra = to_integer(site.pool),
                .kind = RecordKind::site};
    }

    // For each kind, the id that means kTooManyNames.
    static constexpr std::uint32_t kReservedNumbers = 4096;

    // Writes the definition of the next number of `used`, and counts it. `id` is nothing() if the
    // ring has no room. False: the budget or the numbers are used up.
    bool define(std::uint32_t& used, Record record, std::span<const std::byte> payload,
                std::uint32_t& id);
    std::uint32_t define_reserved(std::uint32_t& used, Record record,
                                  std::span<const std::byte> payload);
    std::uint32_t any_string();
    std::uint32_t any_stack();
    std::uint32_t any_site(const Site& wanted);

    RingWriter& writer_;
    NameBudget& budget_;
    const std::uint32_t nothing_;
    std::uint32_t any_string_ = 0;  // kTooManyNames; 0: not defined yet
    std::uint32_t any_stack_ = 0;
    std::uint32_t strings_used_ = 0;
    std::uint32_t stacks_used_ = 0;
    std::uint32_t sites_used_ = 0;
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> strings_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> stacks_;  // by name, file, line...
    std::map<Site, std::uint32_t> sites_;
    std::map<std::uint64_t, std::uint16_t> streams_;
};

}  // namespace tidemark::live
