// Each name once.
#include "traces/live/ring_names.h"

#include <algorithm>

namespace tidemark::live {

std::uint32_t RingNames::define(std::uint32_t& used, Record record,
                                std::span<const std::byte> payload) {
    if (used + 1 == kMostNumbers)
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
    const std::uint32_t id =
        define(strings_used_, {.size = text.size(), .kind = RecordKind::string},
               std::as_bytes(std::span(text)));
    if (id != nothing_)
        strings_.emplace(text, id);
    return id;
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
    const std::uint32_t id =
        define(stacks_used_, {.size = frames.size(), .kind = RecordKind::stack},
               std::as_bytes(std::span(fields)));
    if (id != nothing_)
        stacks_.emplace(std::move(fields), id);
    return id;
}

std::uint32_t RingNames::site(std::uint32_t tag, std::uint32_t stack, PoolId pool) {
    if (tag == nothing_ && stack == nothing_ && pool == PoolId::default_pool)
        return nothing_;
    const Site site{tag, stack, pool};
    if (const auto known = sites_.find(site); known != sites_.end())
        return known->second;
    const std::uint32_t id = define(
        sites_used_,
        {.address = tag, .size = stack, .extra = to_integer(pool), .kind = RecordKind::site}, {});
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
