// Each name once.
#include "traces/live/ring_names.h"

#include <algorithm>
#include <array>

namespace tidemark::live {

bool NameBudget::take(Bytes bytes) {
    Bytes left = left_.load(std::memory_order_relaxed);
    while (left >= bytes) {
        if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed))
            return true;
    }
    return false;
}

bool RingNames::define(std::uint32_t& used, Record record, std::span<const std::byte> payload,
                       std::uint32_t& id) {
    id = nothing_;
    const Bytes bytes = (1 + RingWriter::slots_of(payload)) * sizeof record;
    if (used + 1 >= kPassingNumber - kReservedNumbers || !budget_.take(bytes))
        return false;
    id = define_reserved(used, record, payload);
    if (id == nothing_)
        budget_.give_back(bytes);
    return true;
}

std::uint32_t RingNames::define_reserved(std::uint32_t& used, Record record,
                                         std::span<const std::byte> payload) {
    if (used + 1 >= kPassingNumber)
        return nothing_;
    record.site = nothing_ | (used + 1);
    if (!writer_.put_name(record, payload))
        return nothing_;
    ++used;
    return record.site;
}

std::uint32_t RingNames::string(std::string_view text) {
    text = text.substr(0, kMostText);
    if (text.empty())
        return nothing_;
    if (const auto known = strings_.find(text); known != strings_.end())
        return known->second;
    std::uint32_t id = 0;
    if (!define(strings_used_, {.size = text.size(), .kind = RecordKind::string},
                std::as_bytes(std::span(text)), id))
        return any_string();
    if (id != nothing_)
        strings_.emplace(text, id);
    return id;
}

std::uint32_t RingNames::passing_string(std::string_view text) {
    text = text.substr(0, kMostText);
    if (!budget_.is_half_spent() || text.empty())
        return string(text);
    if (const auto known = strings_.find(text); known != strings_.end())
        return known->second;
    const std::uint32_t id = nothing_ | kPassingNumber;
    return writer_.put_name({.size = text.size(), .site = id, .kind = RecordKind::string},
                            std::as_bytes(std::span(text)))
               ? id
               : nothing_;
}

std::uint32_t RingNames::any_string() {
    if (any_string_ == 0) {
        const std::uint32_t id = define_reserved(
            strings_used_, {.size = kTooManyNames.size(), .kind = RecordKind::string},
            std::as_bytes(std::span(kTooManyNames)));
        any_string_ = id == nothing_ ? 0 : id;
        return id;
    }
    return any_string_;
}

std::uint32_t RingNames::stack(std::span<const LiveFrame> frames) {
    frames = frames.first(std::min(frames.size(), kMostFrames));
    if (frames.empty())
        return nothing_;
    std::vector<std::uint32_t> fields;
    fields.reserve(frames.size() * 3);
    for (const LiveFrame& frame : frames)
        fields.insert(fields.end(), {string(frame.function), string(frame.file), frame.line});
    if (const auto known = stacks_.find(fields); known != stacks_.end())
        return known->second;
    std::uint32_t id = 0;
    if (!define(stacks_used_, {.size = frames.size(), .kind = RecordKind::stack},
                std::as_bytes(std::span(fields)), id))
        return any_stack();
    if (id != nothing_)
        stacks_.emplace(std::move(fields), id);
    return id;
}

std::uint32_t RingNames::any_stack() {
    if (any_stack_ == 0) {
        const std::array<std::uint32_t, 3> frame{any_string(), nothing_, 0};
        const std::uint32_t id = define_reserved(
            stacks_used_, {.size = 1, .kind = RecordKind::stack}, std::as_bytes(std::span(frame)));
        any_stack_ = id == nothing_ ? 0 : id;
        return id;
    }
    return any_stack_;
}

std::uint32_t RingNames::site(std::uint32_t tag, std::uint32_t stack, PoolId pool) {
    if (tag == nothing_ && stack == nothing_ && pool == PoolId::default_pool)
        return nothing_;
    const Site site{tag, stack, pool};
    if (const auto known = sites_.find(site); known != sites_.end())
        return known->second;
    std::uint32_t id = 0;
    if (!define(sites_used_, record_of(site), {}, id))
        return any_site(site);
    if (id != nothing_)
        sites_.emplace(site, id);
    return id;
}

// The pool is always the real one: it decides where bytes may go.
std::uint32_t RingNames::any_site(const Site& wanted) {
    const Site site{wanted.tag == nothing_ ? nothing_ : any_string(),
                    wanted.stack == nothing_ ? nothing_ : any_stack(), wanted.pool};
    if (const auto known = sites_.find(site); known != sites_.end())
        return known->second;
    const std::uint32_t id = define_reserved(sites_used_, record_of(site), {});
    if (id != nothing_)
        sites_.emplace(site, id);
    return id;
}

std::uint16_t RingNames::stream(std::uint64_t handle) {
    if (handle == 0)
        return 0;
    if (const auto known = streams_.find(handle); known != streams_.end())
        return known->second;
    const std::size_t number = streams_.size() + 1;
    if (number > 0xffffU)
        return 0;
    const Record record{.extra = handle,
                        .site = nothing_,
                        .stream = static_cast<std::uint16_t>(number),
                        .kind = RecordKind::stream};
    if (!writer_.put_name(record, {}))
        return 0;
    streams_.emplace(handle, record.stream);
    return record.stream;
}

bool RingNames::setting(std::string_view key, std::string_view value, bool of_allocator) {
    const std::uint32_t key_string = string(key);
    const std::uint32_t value_string = string(value);
    if (key_string == nothing_ || (value_string == nothing_ && !value.empty()))
        return false;
    return writer_.put_name({.address = key_string,
                             .size = value_string,
                             .extra = of_allocator ? kOfAllocator : 0,
                             .kind = RecordKind::setting},
                            {});
}

}  // namespace tidemark::live
