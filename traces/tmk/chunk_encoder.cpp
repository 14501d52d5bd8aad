// Encoding of chunks. A column's layout depends only on the chunk's events.
#include <algorithm>
#include <array>
#include <bit>

#include "core/base/check.h"
#include "traces/tmk/chunk.h"

namespace tidemark::tmk {
namespace {

// Slots are usually dense, and then neighbours in the table too.
std::size_t home_of(std::uint32_t slot, std::size_t table_size) {
    const std::uint32_t beyond = slot / static_cast<std::uint32_t>(table_size);
    return (slot + beyond * 0x9e3779b1U) & (table_size - 1);
}

}  // namespace

ChunkHeader ChunkEncoder::encode(std::span<const TraceEvent> events, std::uint64_t first_event,
                                 ByteWriter& target) {
    TM_CHECK(!events.empty() && events.size() <= kChunkEvents);
    events_ = events;
    ChunkHeader header;
    header.count = static_cast<std::uint32_t>(events.size());
    header.first_event = first_event;
    header.first_time = events.front().time;
    header.last_time = events.back().time;
    header.content_hash = hash_bytes(std::as_bytes(events));
    target.put(header);
    constexpr Attempts repetitive{.dictionary = true};
    constexpr Attempts anything{.delta = true, .dictionary = true};
    find_varying();
    put_kinds(target);
    extract(&TraceEvent::time);
    streams_.encode(numbers_, {.delta = true}, target);
    put_slots(target);
    put_column(&TraceEvent::size, repetitive, target);
    put_column(&TraceEvent::address, repetitive, target);
    put_column(&TraceEvent::stream, repetitive, target, &limits_.streams);
    put_column(&TraceEvent::stack, repetitive, target, &limits_.stacks);
    put_column(&TraceEvent::aux, anything, target);
    put_column(&TraceEvent::tag, repetitive, target, &limits_.strings);
    put_column(&TraceEvent::device, repetitive, target, &limits_.devices);
    put_column(&TraceEvent::flags, repetitive, target);
    add_named_strings();
    return header;
}

// Usually half of the columns hold one value: one pass finds which, and they need no other.
void ChunkEncoder::find_varying() {
    using Bits = std::array<std::uint64_t, sizeof(TraceEvent) / sizeof(std::uint64_t)>;
    const Bits first = std::bit_cast<Bits>(events_[0]);
    Bits differing{};
    for (const TraceEvent& event : events_) {
        const Bits bits = std::bit_cast<Bits>(event);
        for (std::size_t i = 0; i < bits.size(); ++i)
            differing[i] |= bits[i] ^ first[i];
    }
    varying_ = std::bit_cast<TraceEvent>(differing);
}

template <class T>
bool ChunkEncoder::varies(T TraceEvent::*field) const {
    return static_cast<std::uint64_t>(varying_.*field) != 0;
}

template <class T>
void ChunkEncoder::extract(T TraceEvent::*field) {
    numbers_.resize(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i)
        numbers_[i] = static_cast<std::uint64_t>(events_[i].*field);
}

void ChunkEncoder::add_named_strings() {
    if (std::ranges::none_of(
            kinds_, [](std::uint8_t kind) { return names_string(static_cast<EventKind>(kind)); }))
        return;
    for (const TraceEvent& event : events_) {
        if (names_string(event.kind))
            limits_.strings = std::max(limits_.strings, std::uint64_t{event.aux} + 1);
    }
}

void ChunkEncoder::put_kinds(ByteWriter& target) {
    KindSet appears{};
    extract(&TraceEvent::kind);
    kind_.resize(numbers_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
        kind_[i] = static_cast<std::uint8_t>(numbers_[i]);
        appears[kind_[i]] = true;
    }
    kinds_.clear();
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        if (appears[kind])
            kinds_.push_back(static_cast<std::uint8_t>(kind));
    }
    streams_.encode(numbers_, {.dictionary = true}, target);
}

void ChunkEncoder::put_slots(ByteWriter& target) {
    std::ranges::fill(table_, 0U);
    slots_.clear();
    numbers_.resize(events_.size());
    position_.resize(events_.size());
    first_.resize(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const std::uint32_t slot = events_[i].slot;
        std::size_t at = home_of(slot, kTableSlots);
        while (table_[at] != 0 && slots_[table_[at] - 1] != slot)
            at = (at + 1) % kTableSlots;
        first_[i] = table_[at] == 0 ? 1 : 0;
        if (first_[i] != 0) {
            slots_.push_back(slot);
            table_[at] = static_cast<std::uint32_t>(slots_.size());
            if (slot != kNoSlot)
                limits_.slots = std::max(limits_.slots, std::uint64_t{slot} + 1);
        }
        position_[i] = static_cast<std::uint16_t>(table_[at] - 1);
        numbers_[i] = position_[i];
    }
    chosen_.assign(slots_.begin(), slots_.end());
    streams_.encode(chosen_, {.delta = true}, target);
    streams_.encode(numbers_, {}, target);
}

// `limit`: an upper bound of all values.
template <class T>
void ChunkEncoder::put_column(T TraceEvent::*field, Attempts attempts, ByteWriter& target,
                              std::uint64_t* limit) {
    if (!varies(field)) {
        const auto value = static_cast<std::uint64_t>(events_[0].*field);
        target.put(Layout::constant);
        target.put(value);
        if (limit != nullptr)
            *limit = std::max(*limit, value + 1);
        return;
    }
    extract(field);
    if (limit != nullptr)
        *limit = std::max(*limit, *std::ranges::max_element(numbers_) + 1);
    take_census();
    LayoutChoice choice;
    choice.stored = numbers_.size();
    for (const LayoutChoice& other : {by_kind(), by_slot()}) {
        // Spreading stored numbers over the events takes time: it must save an eighth.
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
        KindCensus& kind = census_[kind_[i]];
        const std::uint64_t number = numbers_[i];
        if (kind.events == 0)
            kind.value = number;
        ++kind.events;
        kind.constant &= kind.value == number;
        if (first_[i] != 0)
            ++kind.first_of_slot;
        else
            kind.follows_slot &= last_[position_[i]] == number;
        last_[position_[i]] = number;
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
        const bool stores = choice.stores[kind_[i]];
        chosen_[chosen] = numbers_[i];
        chosen += static_cast<std::size_t>(stores | is_first);
    }
    chosen_.resize(chosen);
    streams_.encode(chosen_, attempts, target);
}

}  // namespace tidemark::tmk
