// Decoding of chunks: loops without branches that depend on the data.
#include "traces/tmk/chunk_decoder.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tidemark::tmk {
namespace {

constexpr const char* kNonsense = "an inconsistent chunk of events";

// `stored` if `stores` is 1, `otherwise` if it is 0, by masks: kinds of events alternate
// irregularly, and a branch on them would be mispredicted every other time.
template <class T>
T choose(std::uint8_t stores, T stored, T otherwise) {
    const std::uint64_t mask = -std::uint64_t{stores};
    const auto number = static_cast<std::uint64_t>(stored);
    const auto other = static_cast<std::uint64_t>(otherwise);
    return static_cast<T>(other ^ ((number ^ other) & mask));
}

}  // namespace

template <class T>
bool ColumnDecoder<T>::open(ByteReader& in, Decompressor& decompressor, std::size_t events,
                            std::size_t slots) {
    layout_ = in.get<Layout>();
    if (layout_ > Layout::by_slot)
        return false;
    if (layout_ != Layout::every)
        constant_ = static_cast<T>(in.get<std::uint64_t>());
    if (layout_ == Layout::constant) {
        bound_ = static_cast<std::uint64_t>(constant_);
        return in.ok();
    }
    filled_with_.reset();
    if (layout_ != Layout::every) {
        const auto bits = in.get_bytes(kKinds / 8);
        if (!in.ok())
            return false;
        for (std::size_t kind = 0; kind < kKinds; ++kind)
            stores_[kind] = std::to_integer<std::uint8_t>(bits[kind / 8] >> (kind % 8)) & 1U;
        // One more than a batch can use, so that the next number can always be read.
        ahead_.resize(kBatchEvents + 1);
        ahead_begin_ = ahead_end_ = 0;
    }
    if (layout_ == Layout::by_slot)
        last_.resize(slots);
    if (!stream_.open(in, decompressor, events))
        return false;
    bound_ = stream_.bound();
    if (layout_ == Layout::by_kind)
        bound_ = std::max(bound_, static_cast<std::uint64_t>(constant_));
    return layout_ != Layout::every || stream_.left() == events;
}

template <class T>
void ColumnDecoder<T>::look_ahead(std::size_t count) {
    std::copy(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_),
              ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_end_), ahead_.begin());
    ahead_end_ -= ahead_begin_;
    ahead_begin_ = 0;
    if (ahead_end_ >= count)
        return;
    const std::size_t more = std::min(count - ahead_end_, stream_.left());
    stream_.read(ahead_.data() + ahead_end_, more);
    ahead_end_ += more;
}

template <class T>
void ColumnDecoder<T>::spread_by_kind(const BatchScope& scope) {
    const std::size_t count = scope.count;
    const EventKind* const kind = scope.kind;
    const T* const numbers = ahead_.data();
    const T constant = constant_;
    T* const out = values_.data();
    std::size_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t stores = stores_[static_cast<std::uint8_t>(kind[i])];
        out[i] = choose(stores, numbers[used], constant);
        used += stores;
    }
    ahead_begin_ = used;
}

template <class T>
void ColumnDecoder<T>::spread_by_slot(const BatchScope& scope) {
    const BatchScope events = scope;  // a copy: what is written below could not change it
    const T* const numbers = ahead_.data();
    T* const out = values_.data();
    T* const last = last_.data();
    std::size_t used = 0;
    for (std::size_t i = 0; i < events.count; ++i) {
        const auto stores = static_cast<std::uint8_t>(
            stores_[static_cast<std::uint8_t>(events.kind[i])] | events.first[i]);
        const std::size_t position = events.position[i];
        const T value = choose(stores, numbers[used], last[position]);
        last[position] = value;
        out[i] = value;
        used += stores;
    }
    ahead_begin_ = used;
}

template <class T>
bool ColumnDecoder<T>::decode(const BatchScope& scope) {
    if (layout_ == Layout::constant) {
        if (filled_with_ != constant_)
            std::ranges::fill(values_, constant_);
        filled_with_ = constant_;
        return true;
    }
    if (layout_ == Layout::every) {
        stream_.read(values_.data(), scope.count);
        return true;
    }
    look_ahead(scope.count);
    if (layout_ == Layout::by_kind)
        spread_by_kind(scope);
    else
        spread_by_slot(scope);
    return ahead_begin_ <= ahead_end_;
}

ChunkDecoder::ChunkDecoder()
    : kind_(kBatchEvents),
      time_(kBatchEvents),
      slot_(kBatchEvents),
      position_(kBatchEvents),
      first_(kBatchEvents) {}

Result<void> ChunkDecoder::open(std::span<const std::byte> payload, const Limits& limits,
                                bool forget) {
    limits_ = limits;
    forget_ = forget;
    done_ = 0;
    slots_seen_ = 0;
    ByteReader in(payload);
    header_ = in.get<ChunkHeader>();
    if (!in.ok() || header_.count == 0 || header_.count > kChunkEvents || header_.zero != 0 ||
        !open_columns(in) || in.left() != 0) {
        header_.count = 0;
        return fail(ErrorCode::bad_input, kNonsense);
    }
    return {};
}

bool ChunkDecoder::open_columns(ByteReader& in) {
    const std::size_t events = header_.count;
    if (!kinds_.open(in, decompressor_, events) || kinds_.left() != events ||
        !times_.open(in, decompressor_, events) || times_.left() != events ||
        !slots_.open(in, decompressor_, events))
        return false;
    slot_count_ = slots_.left();
    slot_list_.resize(std::max(slot_list_.size(), slot_count_));
    slots_.read(slot_list_.data(), slot_count_);
    const auto is_allowed = [this](std::uint32_t slot) {
        return slot < limits_.slots || slot == kNoSlot;
    };
    if (!std::ranges::all_of(std::span(slot_list_).first(slot_count_), is_allowed))
        return false;
    if (!positions_.open(in, decompressor_, events) || positions_.left() != events)
        return false;
    // So that any position can be looked up before it is known to be valid.
    constexpr std::uint64_t kLastPosition = std::numeric_limits<std::uint16_t>::max();
    const std::size_t positions = std::min(positions_.bound(), kLastPosition) + 1;
    slot_list_.resize(std::max(slot_list_.size(), positions));
    const auto open_column = [&](auto& column) {
        return column.open(in, decompressor_, events, slot_count_);
    };
    return open_column(size_) && open_column(address_) && open_column(stream_) &&
           open_column(stack_) && open_column(aux_) && open_column(tag_) && open_column(device_) &&
           open_column(flags_);
}

// Positions must appear in order, so that `first` is right and none is outside the list.
bool ChunkDecoder::decode_slots(std::size_t count) {
    positions_.read(position_.data(), count);
    std::size_t seen = slots_seen_;
    bool out_of_order = false;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t position = position_[i];
        const bool is_first = position == seen;
        out_of_order |= position > seen;
        first_[i] = is_first ? 1 : 0;
        seen += is_first ? 1 : 0;
        slot_[i] = slot_list_[position];
    }
    slots_seen_ = seen;
    return !out_of_order && seen <= slot_count_;
}

bool ChunkDecoder::decode_columns(const BatchScope& scope) {
    return size_.decode(scope) && address_.decode(scope) && stream_.decode(scope) &&
           stack_.decode(scope) && aux_.decode(scope) && tag_.decode(scope) &&
           device_.decode(scope) && flags_.decode(scope);
}

// True if all is well afterwards.
template <class T>
bool ChunkDecoder::check_below(ColumnDecoder<T>& column, std::uint64_t limit, std::size_t count,
                               bool forget) {
    if (column.bound() < limit)
        return true;
    T* const values = column.values();
    bool all_below = true;
    for (std::size_t i = 0; i < count; ++i)
        all_below &= static_cast<std::uint64_t>(values[i]) < limit;
    if (all_below || !forget)
        return all_below;
    column.touched();
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::uint64_t>(values[i]) < limit ? values[i] : T{};
    return true;
}

bool ChunkDecoder::check_names(std::size_t count) {
    if (aux_.bound() < limits_.strings)
        return true;
    std::uint32_t* const aux = aux_.values();
    for (std::size_t i = 0; i < count; ++i) {
        if (!names_string(kind_[i]) || aux[i] < limits_.strings)
            continue;
        if (!forget_)
            return false;
        aux_.touched();
        aux[i] = 0;
    }
    return true;
}

Result<void> ChunkDecoder::check_indexes(std::size_t count) {
    const char* wrong = nullptr;
    if (!check_below(stream_, limits_.streams, count, false))
        wrong = "stream";
    else if (!check_below(device_, limits_.devices, count, false))
        wrong = "device";
    else if (!check_below(stack_, limits_.stacks, count, forget_))
        wrong = "call stack";
    else if (!check_below(tag_, limits_.strings, count, forget_) || !check_names(count))
        wrong = "string";
    if (wrong == nullptr)
        return {};
    return fail(ErrorCode::bad_input,
                fmt::format("an event names a {} that the file does not have", wrong));
}

Result<EventBatch> ChunkDecoder::next() {
    const std::size_t count = std::min(kBatchEvents, header_.count - done_);
    if (count == 0)
        return EventBatch{};
    kinds_.read(kind_.data(), count);
    times_.read(time_.data(), count);
    const bool decoded = decode_slots(count) &&
                         decode_columns({count, kind_.data(), position_.data(), first_.data()});
    done_ += count;
    if (!decoded || (done_ == header_.count && !is_used_up()))
        return fail(ErrorCode::bad_input, kNonsense);
    TM_TRY(check_indexes(count));
    return EventBatch{count,          kind_.data(),      slot_.data(),     time_.data(),
                      size_.values(), address_.values(), stream_.values(), stack_.values(),
                      aux_.values(),  tag_.values(),     device_.values(), flags_.values()};
}

bool ChunkDecoder::is_used_up() const {
    return slots_seen_ == slot_count_ && size_.used_up() && address_.used_up() &&
           stream_.used_up() && stack_.used_up() && aux_.used_up() && tag_.used_up() &&
           device_.used_up() && flags_.used_up();
}

}  // namespace tidemark::tmk
