// VictimPolicy: which buffer leaves a space when room is needed. One instance serves one space. The
// owner of the buffers (the spill engine, a replay) reports which buffers come in (insert), are
// used (touch) and leave (erase), and asks which of those that may leave should leave first
// (victim).
//
// Policies are deterministic and use neither clock nor copies: time is a count of the program's
// operations, and BufferFacts has the cost of moving a buffer. A new policy is a file in victims/
// (lru.cpp is the shortest) and a line in victims.inc: TIDEMARK_VICTIM(name). Thread-safety: none;
// the owner has a lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/options.h"
#include "core/base/units.h"

namespace tidemark {

// A buffer of bytes that may move between spaces. Dense: ids are reused after the end of a buffer,
// so tables indexed by them stay as large as the most buffers that were ever live.
enum class BufferId : std::uint32_t {};

constexpr std::uint32_t to_integer(BufferId id) {
    return static_cast<std::uint32_t>(id);
}

// BufferFacts::next_use.
constexpr std::uint64_t kUnknownUse = ~std::uint64_t{0} - 1;  // unknown
constexpr std::uint64_t kNeverUsed = ~std::uint64_t{0};       // known not to happen

// What its owner knows about a resident buffer now.
struct BufferFacts {
    Bytes size = 0;
    std::uint64_t now = 0;                 // operations of the program so far
    std::uint64_t next_use = kUnknownUse;  // the operation that is expected to use it, > now
    std::uint64_t end = kUnknownUse;       // the operation that frees it; kNeverUsed: none does
    std::int32_t hint = 0;  // of the program: higher stays longer, negative leaves first
    bool dirty = true;      // leaving takes a copy; a clean one is dropped for free
    bool empty = false;     // nothing was written to it yet: leaving and coming back are free
};

// The owner, as its policy sees it.
class Residents {
  public:
    virtual ~Residents() = default;

    // Not pinned, locked or in flight. O(1).
    virtual bool may_leave(BufferId id) const = 0;

    // Of a resident buffer. O(1).
    virtual BufferFacts facts(BufferId id) const = 0;
};

// Why a buffer is no longer resident.
enum class EvictionReason : std::uint8_t {
    freed,    // it was freed
    evicted,  // it may come back under the same id (`insert` again), or be freed elsewhere
};

// Constants while a policy serves its space.
struct VictimContext {
    const Residents* residents = nullptr;
    Bytes capacity = 0;
    double out_ns_per_byte = 0;  // of the link that victims leave by
    double in_ns_per_byte = 0;   // and of the one that they come back by
};

class VictimPolicy {
  public:
    VictimPolicy() = default;
    VictimPolicy(const VictimPolicy&) = delete;
    VictimPolicy& operator=(const VictimPolicy&) = delete;
    virtual ~VictimPolicy() = default;

    // A buffer has come into the space: allocated, or fetched. At most O(log residents), here and
    // below.
    virtual void insert(BufferId id) = 0;

    // A resident buffer is used: its facts are those after the use (dirty if it was written, the
    // next use behind this one).
    virtual void touch(BufferId id) = 0;

    // A resident buffer leaves.
    virtual void erase(BufferId id, EvictionReason why) = 0;

    // A buffer that was evicted was freed elsewhere: for policies that remember those.
    virtual void forget(BufferId /*id*/) {}

    // The facts of a resident buffer other than its use have changed: dirty, hint, next_use.
    virtual void revise(BufferId /*id*/) {}

    // The resident buffer that should leave first among those that may; nothing if none may. It
    // stays until the owner erases it. O(log residents) plus what it skips.
    virtual std::optional<BufferId> victim() = 0;
};

// Which knowledge of next uses a policy needs.
enum class Foresight : std::uint8_t {
    none,
    learned,  // guessed from the program's past
    oracle,   // the trace's own future: in replays only
};

struct VictimPolicyInfo {
    std::string_view name;
    std::string_view summary;
    std::string_view source;  // the paper or project it follows
    std::span<const OptionInfo> options;
    Foresight foresight;
    std::unique_ptr<VictimPolicy> (*make)(const VictimContext& context, const Options& options);
};

// The catalogue (victims/victims.cpp). O(1), thread-safe.
std::span<const VictimPolicyInfo> all_victim_policies();

// A policy of that name ("s3fifo") with its options ("s3fifo:small=0.2"), as text and found.
struct VictimSpec {
    const VictimPolicyInfo* policy = nullptr;
    Options options;

    std::string text() const;  // with the options that are not at their default
};

// Errors (bad_option): unknown policy or option, with the nearest name; a bad value.
Result<VictimSpec> parse_victim_policy(std::string_view text);

}  // namespace tidemark
