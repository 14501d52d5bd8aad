// The records of a PyTorch memory snapshot, made from pickled dicts as soon as their items are
// known: a trace entry is 32 bytes instead of a Python dict. The keys of a dict determine what it
// is. Versions of PyTorch differ in what they write, so no record needs to have all its fields.
//
// Single-threaded. Memory O(records).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash_index.h"
#include "traces/io/growing_array.h"
#include "traces/model/event.h"
#include "traces/readers/pickle.h"

namespace tidemark::torch {

constexpr std::uint32_t kNone = 0xffffffffU;  // no list, no string, no link

enum class Action : std::uint8_t {
    missing,  // the record has none
    unknown,  // one that this version doesn't know
    alloc,
    free_requested,
    free_completed,
    free,  // both at once: PyTorch <= 2.0
    segment_alloc,
    segment_free,
    segment_map,
    segment_unmap,
    oom,
    snapshot,
    mark,  // user_defined, annotate: memory isn't touched
};

// What thousands of entries share: stream, call stack, texts, pool. All numbers are indexes.
struct Context {
    std::uint32_t stream = 0;        // Records::streams
    std::uint32_t frames = kNone;    // a list of frames
    std::uint32_t compile = kNone;   // a string: compile_context
    std::uint32_t metadata = kNone;  // a string: user_metadata
    std::uint32_t pool = 0;          // Records::pools
    std::uint32_t has_pool = 0;      // 1: the entry itself names its pool

    friend bool operator==(const Context&, const Context&) = default;
};

// A trace entry.
struct Entry {
    static constexpr std::uint64_t kTimeBits = 52;  // microseconds since 1970 until the year 2112
    static constexpr std::uint64_t kLatest = (std::uint64_t{1} << kTimeBits) - 1;
    static constexpr std::uint8_t kHasAddress = 1;
    static constexpr std::uint8_t kHasSize = 2;
    static constexpr std::uint8_t kOwned = 4;   // a free whose allocation is known: link = its slot
    static constexpr std::uint8_t kTwice = 8;   // a free of a block that had been freed before
    static constexpr std::uint8_t kWaits = 16;  // a requested free that isn't complete at the dump

    std::uint64_t address = 0;  // of oom: the device's free bytes
    std::uint64_t size = 0;
    std::uint64_t packed = 0;   // flags, action, time
    std::uint32_t context = 0;  // Records::contexts
    std::uint32_t link = kNone;

    Action action() const { return static_cast<Action>(packed >> kTimeBits & 15U); }

    std::uint64_t time_us() const { return packed & kLatest; }

    bool has(std::uint8_t flags) const { return (packed >> 56U & flags) == flags; }

    void set_action(Action action) {
        packed = (packed & ~(std::uint64_t{15} << kTimeBits)) | static_cast<std::uint64_t>(action)
                                                                    << kTimeBits;
    }

    void set_time_us(std::uint64_t time) {
        packed = (packed & ~kLatest) | (time < kLatest ? time : kLatest);
    }

    void set(std::uint8_t flags) { packed |= std::uint64_t{flags} << 56U; }
};

static_assert(sizeof(Entry) == 32);

struct Segment {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    std::uint32_t pool = 0;
    std::uint32_t blocks = kNone;  // a list of blocks
    bool small = false;
    bool expandable = false;
    bool has_address = false;
};

enum class BlockState : std::uint8_t { inactive, allocated, pending };

struct Block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t requested = 0;
    std::uint32_t frames = kNone;
    std::uint32_t history = kNone;  // a list of Records::real_sizes (up to 2.0)
    BlockState state = BlockState::inactive;
    bool has_address = false;
    bool has_requested = false;
};

struct FrameRecord {
    std::uint32_t name = kNone;
    std::uint32_t file = kNone;
    std::uint32_t line = 0;
};

struct Annotation {
    std::uint64_t time_us = 0;
    std::uint32_t name = kNone;
    std::uint32_t device = 0;
    bool begins = false;
    bool ends = false;
};

// Every key that this reader uses.
enum class Key : std::uint8_t {
    none,  // not used
    action,
    addr,
    address,
    allocator_settings,
    blocks,
    compile_context,
    device,
    device_free,
    device_traces,
    external_annotations,
    filename,
    frames,
    history,
    host_segments,
    host_traces,
    is_expandable,
    line,
    name,
    pool_id,
    real_size,
    requested_size,
    segment_pool_id,
    segment_type,
    size,
    stage,
    state,
    stream,
    time_us,
    total_size,
    user_metadata,
    count  // how many there are
};

class Records final : public DictHandler {
  public:
    enum class Kind : std::uint8_t { empty, plain, entry, segment, block, frame, annotation, past };

    // What a dict became: the kind of record, and its index among those of the kind.
    struct Ref {
        Kind kind = Kind::empty;
        std::uint32_t index = 0;
    };

    explicit Records(PickleObjects& objects);

    void set_items(std::uint32_t dict, std::span<const Value> pairs, std::uint64_t shape) override;

    // Kind::empty unless `value` is a dict with items.
    Ref ref(Value value) const;

    // The first `most` items of a plain dict (settings, the snapshot itself) in order: visit(key,
    // value); keys that are not strings are left out.
    template <class Visit>
    void for_each_item(std::uint32_t plain, std::uint32_t most, Visit visit) const {
        Value key;
        bool is_key = true;
        const auto take = [&](Value value) {
            if (is_key)
                key = value;
            else if (key.is(Value::Kind::string))
                visit(objects_.strings[key.index()], value);
            is_key = !is_key;
        };
        objects_.lists.for_each(plain_lists_[plain], take, most * 2);
    }

    // All values of a plain dict, in order: visit(key, value), whatever the key is.
    template <class Visit>
    void for_each_value(std::uint32_t plain, Visit visit) const {
        Value key;
        bool is_key = true;
        objects_.lists.for_each(plain_lists_[plain], [&](Value value) {
            if (!is_key)
                visit(key, value);
            key = value;
            is_key = !is_key;
        });
    }

    // The context that differs from `context` only in its pool. Amortised O(1).
    std::uint32_t with_pool(std::uint32_t context, std::uint32_t pool);

    // Whether any record of the kind had that key: shows which version wrote the file.
    bool seen(Kind kind, Key key) const {
        return (seen_[static_cast<std::size_t>(kind)] >> static_cast<unsigned>(key) & 1U) != 0;
    }

    // False once there were more records of a kind than can be numbered; the last one is
    // overwritten.
    bool whole() const { return !overflown_; }

    PickleObjects& objects() { return objects_; }

    const PickleObjects& objects() const { return objects_; }

    GrowingArray<Entry> entries;
    GrowingArray<Segment> segments;
    GrowingArray<Block> blocks;
    GrowingArray<FrameRecord> frames;
    GrowingArray<Annotation> annotations;
    GrowingArray<std::uint64_t> real_sizes;
    GrowingArray<Context> contexts;         // [0] = the default
    std::vector<std::uint64_t> streams{0};  // handles; [0] = default stream
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pools{{0, 0}};  // ids; [0] = default pool

  private:
    struct ContextHash {
        std::size_t operator()(const Context& context) const;
    };

    // Where the fields of an entry are in dicts of one shape, and the last context of such dicts.
    struct EntryShape {
        std::uint64_t shape = 0;
        std::array<std::size_t, 4> fields{};  // of action, addr, size, time_us
        std::array<std::size_t, 8> others{};  // of everything that makes up the context
        std::size_t other_count = 0;
        std::array<Value, 8> last_others{};
        std::uint32_t context = 0;
    };

    Key key_of(Value key);
    Kind kind_of(std::span<const Value> pairs);
    std::uint32_t create(Kind kind);
    void set_record(Ref ref, std::span<const Value> pairs);
    void keep_plain(std::uint32_t dict, Ref ref, std::span<const Value> pairs);

    bool add_shaped_entry(std::span<const Value> pairs);
    void learn_shape(std::uint64_t shape, std::span<const Value> pairs, const Entry& entry);
    void set_entry(Entry& entry, std::span<const Value> pairs);
    void set_entry_rare(Entry& entry, Context& context, Key key, Value value);
    void set_segment(Segment& segment, Key key, Value value);
    void set_block(Block& block, Key key, Value value);
    void set_frame(FrameRecord& frame, Key key, Value value);
    void set_annotation(Annotation& annotation, Key key, Value value);

    std::uint64_t number(Value value) const;
    std::uint32_t small_number(Value value) const;
    Action action_of(Value value);
    std::uint32_t stream_of(Value value);
    std::uint32_t pool_of(Value value);
    std::uint32_t context_index(const Context& context);
    static std::uint32_t list_of(Value value);
    static std::uint32_t string_of(Value value);

    PickleObjects& objects_;
    GrowingArray<std::uint32_t> refs_;         // by number of the dict: index << 3 | kind
    GrowingArray<std::uint8_t> keys_;          // by index of the string: its Key
    GrowingArray<std::uint8_t> actions_;       // by index of the string: its Action
    GrowingArray<std::uint32_t> plain_lists_;  // by index of the plain dict: its items, a list
    std::vector<std::uint64_t> seen_;          // by kind: a bit for each Key
    HashIndex stream_index_;
    EntryShape entry_shape_;
    std::uint64_t last_handle_ = 0;
    std::uint32_t last_stream_ = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pool_index_{{{0, 0}, 0}};
    std::unordered_map<Context, std::uint32_t, ContextHash> context_index_;
    std::uint32_t last_context_ = 0;
    bool overflown_ = false;
};

}  // namespace tidemark::torch
