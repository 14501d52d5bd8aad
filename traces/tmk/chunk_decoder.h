// ChunkDecoder: decodes the events of a chunk, a batch at a time, into columns that stay in a
// processor's second-level cache. The chunk may be anything: what does not fit together is an
// Error, and every index that others rely on (slots, streams, devices, strings, stacks) is checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/model/event.h"
#include "traces/tmk/chunk.h"
#include "traces/tmk/stream_decoder.h"

namespace tidemark::tmk {

// The most events of a batch: its columns take 350 KB.
constexpr std::size_t kBatchEvents = 8192;

// The events of a batch whose columns are being decoded.
struct BatchScope {
    std::size_t count = 0;
    const EventKind* kind = nullptr;
    const std::uint16_t* position = nullptr;  // of the slot in the chunk's list of slots
    const std::uint8_t* first = nullptr;      // 1 = the chunk's first event with this slot
};

// A column in any layout.
template <class T>
class ColumnDecoder {
  public:
    ColumnDecoder() : values_(kBatchEvents) {}

    // `slots`: those of the chunk; every position in a batch is below. False if anything is wrong.
    bool open(ByteReader& in, Decompressor& decompressor, std::size_t events, std::size_t slots);

    // The next batch. False if the stream has too few numbers.
    bool decode(const BatchScope& scope);

    // True if every stored number has been used.
    bool used_up() const { return layout_ == Layout::constant || (left() == 0); }

    // No value is above it.
    std::uint64_t bound() const { return bound_; }

    T* values() { return values_.data(); }

    // Call this after writing to values().
    void touched() { filled_with_.reset(); }

  private:
    std::size_t left() const { return stream_.left() + ahead_end_ - ahead_begin_; }

    void look_ahead(std::size_t count);
    void spread_by_kind(const BatchScope& scope);
    void spread_by_slot(const BatchScope& scope);

    Layout layout_ = Layout::constant;
    T constant_{};
    std::optional<T> filled_with_;  // what all of values_ is, if known
    std::uint64_t bound_ = 0;
    std::array<std::uint8_t, kKinds> stores_{};
    StreamDecoder<T> stream_;
    std::vector<T> values_;
    std::vector<T> ahead_;  // numbers that have been read but not yet spread over the events
    std::size_t ahead_begin_ = 0;
    std::size_t ahead_end_ = 0;
    std::vector<T> last_;  // by position of slot: the value so far
};

class ChunkDecoder {
  public:
    ChunkDecoder();

    // Starts with the chunk of this payload, which must stay until its last batch. With `forget`,
    // strings and stacks out of bounds become 0, "unknown", instead of an Error. Errors: bad_input,
    // without `where`.
    Result<void> open(std::span<const std::byte> payload, const Limits& limits, bool forget);

    const ChunkHeader& header() const { return header_; }

    // The next events; count == 0 at the chunk's end. Errors: bad_input, without `where`.
    Result<EventBatch> next();

  private:
    bool open_columns(ByteReader& in);
    bool decode_slots(std::size_t count);
    bool decode_columns(const BatchScope& scope);
    bool is_used_up() const;
    Result<void> check_indexes(std::size_t count);
    bool check_names(std::size_t count);

    template <class T>
    static bool check_below(ColumnDecoder<T>& column, std::uint64_t limit, std::size_t count,
                            bool forget);

    Decompressor decompressor_;
    ChunkHeader header_;
    Limits limits_;
    bool forget_ = false;
    std::size_t done_ = 0;

    StreamDecoder<EventKind> kinds_;
    StreamDecoder<Nanoseconds> times_;
    StreamDecoder<std::uint32_t> slots_;      // the chunk's list of slots
    StreamDecoder<std::uint16_t> positions_;  // each event's position in it
    std::vector<std::uint32_t> slot_list_;    // at least as long as any position needs
    std::size_t slot_count_ = 0;              // of the list
    std::size_t slots_seen_ = 0;

    std::vector<EventKind> kind_;
    std::vector<Nanoseconds> time_;
    std::vector<std::uint32_t> slot_;
    std::vector<std::uint16_t> position_;
    std::vector<std::uint8_t> first_;
    ColumnDecoder<Bytes> size_;
    ColumnDecoder<std::uint64_t> address_;
    ColumnDecoder<StreamId> stream_;
    ColumnDecoder<std::uint32_t> stack_;
    ColumnDecoder<std::uint32_t> aux_;
    ColumnDecoder<std::uint32_t> tag_;
    ColumnDecoder<std::uint16_t> device_;
    ColumnDecoder<std::uint8_t> flags_;
};

}  // namespace tidemark::tmk
