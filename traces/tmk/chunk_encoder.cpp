// Encoding of chunks. What a column's layout is depends on nothing but the chunk's events.
#include <algorithm>

#include "core/base/check.h"
#include "traces/model/lifetimes.h"
#include "traces/tmk/chunk.h"

namespace tidemark::tmk {
namespace {

template <class T>
void widen(std::span<const T> from, std::vector<std::uint64_t>& to) {
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
        to[i] = static_cast<std::uint64_t>(from[i]);
}

template <class T>
void add_field(std::span<const TraceEvent> events, std::vector<T>& column, T TraceEvent::*field) {
    const std::size_t before = column.size();
    column.resize(before + events.size());
    T* const target = column.data() + before;
    for (std::size_t i = 0; i < events.size(); ++i)
        target[i] = events[i].*field;
}

template <class T>
bool is_constant(std::span<const T> values) {
    return std::ranges::all_of(values, [first = values[0]](T value) { return value == first; });
}

}  // namespace

ChunkEncoder::ChunkEncoder() : last_(kChunkEvents) {
    for_each_column([](auto& column) { column.reserve(kChunkEvents); });
}

void ChunkEncoder::add(std::span<const TraceEvent> events) {
    TM_CHECK(events.size() <= room());
    // In blocks that stay in the first-level cache while their eleven fields are taken apart.
    constexpr std::size_t kBlock = 256;
    for (; !events.empty(); events = events.subspan(std::min(kBlock, events.size()))) {
        const auto block = events.first(std::min(kBlock, events.size()));
        add_field(block, kind_, &TraceEvent::kind);
        add_field(block, slot_, &TraceEvent::slot);
        add_field(block, time_, &TraceEvent::time);
        add_field(block, size_, &TraceEvent::size);
        add_field(block, address_, &TraceEvent::address);
        add_field(block, stream_, &TraceEvent::stream);
        add_field(block, stack_, &TraceEvent::stack);
        add_field(block, aux_, &TraceEvent::aux);
        add_field(block, tag_, &TraceEvent::tag);
        add_field(block, device_, &TraceEvent::device);
        add_field(block, flags_, &TraceEvent::flags);
    }
}

ChunkHeader ChunkEncoder::encode(ChunkHeader header, ByteWriter& target) {
    TM_CHECK(count() != 0);
    header.count = static_cast<std::uint32_t>(count());
    header.first_time = time_.front();
    header.last_time = time_.back();
    target.put(header);
    constexpr Attempts repetitive{.dictionary = true};
    constexpr Attempts anything{.delta = true, .dictionary = true};
    put_kinds_and_times(target);
    put_slots(target);
    put_column(std::span<const Bytes>(size_), repetitive, target);
    put_column(std::span<const std::uint64_t>(address_), repetitive, target);
    put_column(std::span<const StreamId>(stream_), repetitive, target);
    put_column(std::span<const std::uint32_t>(stack_), repetitive, target);
    put_column(std::span<const std::uint32_t>(aux_), anything, target);
    put_column(std::span<const std::uint32_t>(tag_), repetitive, target);
    put_column(std::span<const std::uint16_t>(device_), repetitive, target);
    put_column(std::span<const std::uint8_t>(flags_), repetitive, target);
    widen_limits();
    for_each_column([](auto& column) { column.clear(); });
    return header;
}

void ChunkEncoder::widen_limits() {
    const auto widen_to = [](std::uint64_t& limit, const auto& values) {
        const auto largest = static_cast<std::uint64_t>(*std::ranges::max_element(values));
        limit = std::max(limit, largest + 1);
    };
    widen_to(limits_.streams, stream_);
    widen_to(limits_.devices, device_);
    widen_to(limits_.stacks, stack_);
    widen_to(limits_.strings, tag_);
    for (std::size_t i = 0; i < count(); ++i) {
        if (slot_[i] != kNoSlot)
            limits_.slots = std::max(limits_.slots, std::uint64_t{slot_[i]} + 1);
        if (names_string(kind_[i]))
            limits_.strings = std::max(limits_.strings, std::uint64_t{aux_[i]} + 1);
    }
}

void ChunkEncoder::put_kinds_and_times(ByteWriter& target) {
    KindSet appears{};
    for (const EventKind kind : kind_)
        appears[static_cast<std::uint8_t>(kind)] = true;
    kinds_.clear();
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        if (appears[kind])
            kinds_.push_back(static_cast<std::uint8_t>(kind));
    }
    widen(std::span<const EventKind>(kind_), numbers_);
    streams_.encode(numbers_, {.dictionary = true}, target);
    widen(std::span<const Nanoseconds>(time_), numbers_);
    streams_.encode(numbers_, {.delta = true}, target);
}

void ChunkEncoder::put_slots(ByteWriter& target) {
    LiveMap places;
    numbers_.clear();
    chosen_.clear();
    place_.resize(count());
    first_.resize(count());
    for (std::size_t i = 0; i < count(); ++i) {
        std::uint32_t place = places.find(slot_[i]);
        first_[i] = place == kNoSlot ? 1 : 0;
        if (first_[i] != 0) {
            place = static_cast<std::uint32_t>(chosen_.size());
            chosen_.push_back(slot_[i]);
            places.insert(slot_[i], place);
        }
        place_[i] = static_cast<std::uint16_t>(place);
        numbers_.push_back(place);
    }
    streams_.encode(chosen_, {.delta = true}, target);
    streams_.encode(numbers_, {}, target);
}

template <class T>
void ChunkEncoder::put_column(std::span<const T> values, Attempts attempts, ByteWriter& target) {
    if (is_constant(values)) {
        target.put(Layout::constant);
        target.put(static_cast<std::uint64_t>(values[0]));
        return;
    }
    widen(values, numbers_);
    take_census();
    LayoutChoice choice;
    choice.stored = numbers_.size();
    for (const LayoutChoice& other : {by_kind(), by_slot()}) {
        // Spreading stored numbers over the events has its price: an eighth must be saved.
        const std::size_t price = other.layout == choice.layout ? 0 : numbers_.size() / 8;
        if (other.stored + price < choice.stored)
            choice = other;
    }
    put_numbers(choice, attempts, target);
}

void ChunkEncoder::take_census() {
    for (const std::uint8_t kind : kinds_)
        census_[kind] = {};
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
        KindCensus& kind = census_[static_cast<std::uint8_t>(kind_[i])];
        const std::uint64_t number = numbers_[i];
        if (kind.events == 0)
            kind.value = number;
        ++kind.events;
        kind.constant &= kind.value == number;
        if (first_[i] != 0)
            ++kind.first_of_slot;
        else
            kind.follows_slot &= last_[place_[i]] == number;
        last_[place_[i]] = number;
    }
}

// The constant is the value that most events share with all others of their kind.
ChunkEncoder::LayoutChoice ChunkEncoder::by_kind() const {
    LayoutChoice choice;
    choice.layout = Layout::by_kind;
    std::size_t most = 0;
    for (const std::uint8_t candidate : kinds_) {
        std::size_t events = 0;
        for (const std::uint8_t kind : kinds_) {
            if (census_[kind].constant && census_[kind].value == census_[candidate].value)
                events += census_[kind].events;
        }
        if (census_[candidate].constant && events > most) {
            most = events;
            choice.constant = census_[candidate].value;
        }
    }
    choice.stored = numbers_.size() - most;
    for (const std::uint8_t kind : kinds_)
        choice.stores[kind] = !census_[kind].constant || census_[kind].value != choice.constant;
    return choice;
}

ChunkEncoder::LayoutChoice ChunkEncoder::by_slot() const {
    LayoutChoice choice;
    choice.layout = Layout::by_slot;
    for (const std::uint8_t kind : kinds_) {
        choice.stores[kind] = !census_[kind].follows_slot;
        choice.stored += choice.stores[kind] ? census_[kind].events : census_[kind].first_of_slot;
    }
    return choice;
}

void ChunkEncoder::put_numbers(const LayoutChoice& choice, Attempts attempts, ByteWriter& target) {
    target.put(choice.layout);
    if (choice.layout == Layout::every)
        return streams_.encode(numbers_, attempts, target);
    target.put(choice.constant);
    for (std::size_t byte = 0; byte < kKinds / 8; ++byte) {
        unsigned bits = 0;
        for (std::size_t bit = 0; bit < 8; ++bit)
            bits |= (choice.stores[byte * 8 + bit] ? 1U : 0U) << bit;
        target.put(static_cast<std::uint8_t>(bits));
    }
    chosen_.resize(numbers_.size());
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
        const bool is_first = choice.layout == Layout::by_slot && first_[i] != 0;
        const bool stores = choice.stores[static_cast<std::uint8_t>(kind_[i])];
        chosen_[chosen] = numbers_[i];
        chosen += static_cast<std::size_t>(stores | is_first);
    }
    chosen_.resize(chosen);
    streams_.encode(chosen_, attempts, target);
}

}  // namespace tidemark::tmk
