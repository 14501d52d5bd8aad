// Two parts in a row: the content (which the trace's hash covers) and the description (where it
// came from and which oddities it had).
#include "traces/tmk/info_block.h"

#include <string>
#include <utility>

#include "traces/tmk/number_stream.h"

namespace tidemark::tmk {
namespace {

// No honest table shrinks as much; a file that claims more is refused before memory is reserved.
constexpr std::uint64_t kMostShrinking = 1024;
constexpr std::uint64_t kAlwaysAllowed = std::uint64_t{1} << 20U;

// The highest level whose cost isn't noticeable.
constexpr std::size_t kSmall = std::size_t{1} << 20U;
constexpr int kThoroughLevel = 19;
constexpr int kFastLevel = 3;

using Pairs = std::vector<std::pair<std::string, std::string>>;

void put_count(ByteWriter& out, std::size_t count) {
    out.put(static_cast<std::uint32_t>(count));
}

void put_texts(ByteWriter& out, const std::vector<std::string>& texts) {
    put_count(out, texts.size());
    for (const std::string& text : texts)
        out.put_text(text);
}

void put_pairs(ByteWriter& out, const Pairs& pairs) {
    put_count(out, pairs.size());
    for (const auto& [key, value] : pairs) {
        out.put_text(key);
        out.put_text(value);
    }
}

// Each distinct frame once; stacks as lengths and numbers of frames. The empty string and the empty
// stack are always there and not written.
void put_tables(ByteWriter& out, const TraceInfo& info) {
    put_count(out, info.strings.size());
    for (std::uint32_t i = 1; i < info.strings.size(); ++i)
        out.put_text(info.strings[i]);

    StackTable frames;  // of one frame each: interns them
    std::vector<std::uint32_t> numbers;
    put_count(out, info.stacks.size());
    for (std::uint32_t i = 1; i < info.stacks.size(); ++i) {
        put_count(out, info.stacks[i].size());
        for (const Frame& frame : info.stacks[i])
            numbers.push_back(frames.intern(std::span(&frame, 1)) - 1);
    }
    put_count(out, frames.size() - 1);
    for (std::uint32_t i = 1; i < frames.size(); ++i)
        out.put(frames[i][0]);
    for (const std::uint32_t number : numbers)
        out.put(number);
}

void put_content(ByteWriter& out, const TraceInfo& info) {
    out.put(info.event_count);
    out.put(info.preamble_count);
    out.put(info.slot_count);
    out.put(info.duration);
    out.put(static_cast<std::uint8_t>(info.begins_inside));
    put_count(out, info.devices.size());
    for (const TraceDevice& device : info.devices) {
        out.put_text(device.name);
        out.put(device.total_memory);
    }
    put_count(out, info.streams.size());
    for (const std::uint64_t handle : info.streams)
        out.put(handle);
    put_texts(out, info.pools);
    put_pairs(out, info.settings);
    put_tables(out, info);
}

void put_description(ByteWriter& out, const TraceInfo& info) {
    out.put_text(info.format);
    out.put_text(info.source);
    out.put(info.start_time);
    out.put(static_cast<std::uint8_t>(info.cut_off));
    put_pairs(out, info.metadata);
    put_texts(out, info.warnings);
    const Anomalies& odd = info.anomalies;
    for (const std::uint64_t count :
         {odd.unknown_frees, odd.double_frees, odd.reused_live, odd.zero_sizes, odd.giant_sizes,
          odd.unknown_actions, odd.bad_records, odd.backward_times})
        out.put(count);
}

// A count of things that take at least `least` bytes each: at most the possible number, so that the
// file's size bounds the memory for them.
std::size_t get_count(ByteReader& in, std::size_t least) {
    const auto count = in.get<std::uint32_t>();
    if (count > in.left() / least) {
        in.get_bytes(in.left() + 1);  // not ok from here on
        return 0;
    }
    return count;
}

constexpr std::size_t kLeastText = sizeof(std::uint32_t);

std::vector<std::string> get_texts(ByteReader& in) {
    std::vector<std::string> texts(get_count(in, kLeastText));
    for (std::string& text : texts)
        text = in.get_text();
    return texts;
}

Pairs get_pairs(ByteReader& in) {
    Pairs pairs(get_count(in, 2 * kLeastText));
    for (auto& [key, value] : pairs) {
        key = in.get_text();
        value = in.get_text();
    }
    return pairs;
}

bool get_strings(ByteReader& in, StringTable& strings) {
    const auto count = in.get<std::uint32_t>();
    for (std::uint32_t i = 1; i < count; ++i) {
        const std::string_view text = in.get_text();
        if (!in.ok() || strings.intern(text) != i)  // cut short, or duplicated
            return false;
    }
    return count != 0;
}

bool get_stacks(ByteReader& in, std::uint32_t string_count, StackTable& stacks) {
    const auto count = in.get<std::uint32_t>();
    if (count == 0 || count - 1 > in.left() / sizeof(std::uint32_t))
        return false;
    std::vector<std::uint32_t> lengths(count - 1);
    for (std::uint32_t& length : lengths)
        length = in.get<std::uint32_t>();
    std::vector<Frame> frames(get_count(in, sizeof(Frame)));
    for (Frame& frame : frames) {
        frame = in.get<Frame>();
        if (frame.name >= string_count || frame.file >= string_count)
            return false;
    }
    std::vector<Frame> stack;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] > in.left() / sizeof(std::uint32_t))
            return false;
        stack.resize(lengths[i]);
        for (Frame& frame : stack) {
            const auto number = in.get<std::uint32_t>();
            if (number >= frames.size())
                return false;
            frame = frames[number];
        }
        if (stacks.intern(stack) != i + 1)
            return false;
    }
    return in.ok();
}

bool get_content(ByteReader& in, TraceInfo& info) {
    info.event_count = in.get<std::uint64_t>();
    info.preamble_count = in.get<std::uint64_t>();
    info.slot_count = in.get<std::uint32_t>();
    info.duration = in.get<Nanoseconds>();
    info.begins_inside = in.get<std::uint8_t>() != 0;
    info.devices.resize(get_count(in, kLeastText + sizeof(Bytes)));
    for (TraceDevice& device : info.devices) {
        device.name = in.get_text();
        device.total_memory = in.get<Bytes>();
    }
    info.streams.resize(get_count(in, sizeof(std::uint64_t)));
    for (std::uint64_t& handle : info.streams)
        handle = in.get<std::uint64_t>();
    info.pools = get_texts(in);
    info.settings = get_pairs(in);
    return in.ok() && get_strings(in, info.strings) &&
           get_stacks(in, info.strings.size(), info.stacks);
}

bool get_description(ByteReader& in, TraceInfo& info) {
    info.format = in.get_text();
    info.source = in.get_text();
    info.start_time = in.get<Nanoseconds>();
    info.cut_off = in.get<std::uint8_t>() != 0;
    info.metadata = get_pairs(in);
    info.warnings = get_texts(in);
    Anomalies& odd = info.anomalies;
    for (std::uint64_t* count :
         {&odd.unknown_frees, &odd.double_frees, &odd.reused_live, &odd.zero_sizes,
          &odd.giant_sizes, &odd.unknown_actions, &odd.bad_records, &odd.backward_times})
        *count = in.get<std::uint64_t>();
    return in.ok();
}

}  // namespace

EncodedInfo encode_info(const TraceInfo& info) {
    ByteWriter raw;
    put_content(raw, info);
    const std::size_t content_size = raw.size();
    put_description(raw, info);
    EncodedInfo encoded;
    encoded.content_hash = hash_bytes(raw.bytes().first(content_size));
    Compressor compressor;
    const auto compressed =
        compressor.compress(raw.bytes(), raw.size() <= kSmall ? kThoroughLevel : kFastLevel);
    const bool shrinks_too_much = compressed.size() * kMostShrinking + kAlwaysAllowed < raw.size();
    const bool store_raw = compressed.size() >= raw.size() || shrinks_too_much;
    encoded.payload.put(static_cast<std::uint64_t>(raw.size()));
    encoded.payload.put(static_cast<std::uint64_t>(content_size));
    encoded.payload.put(store_raw ? Packing::bits : Packing::zstd);
    encoded.payload.put_bytes(store_raw ? raw.bytes() : compressed);
    return encoded;
}

Result<DecodedInfo> decode_info(std::span<const std::byte> payload) {
    const auto nonsense = fail(ErrorCode::bad_input, "an inconsistent table of names");
    ByteReader in(payload);
    const auto size = in.get<std::uint64_t>();
    const auto content_size = in.get<std::uint64_t>();
    const auto packing = in.get<Packing>();
    if (!in.ok() || content_size > size || packing > Packing::zstd)
        return nonsense;
    std::span<const std::byte> raw = in.get_bytes(in.left());
    std::vector<std::byte> unpacked;
    if (packing == Packing::zstd) {
        if (size > raw.size() * kMostShrinking + kAlwaysAllowed)
            return nonsense;
        unpacked.resize(size);
        if (!Decompressor().decompress(raw, unpacked))
            return nonsense;
        raw = unpacked;
    }
    if (raw.size() != size)
        return nonsense;
    DecodedInfo decoded;
    ByteReader content(raw.first(content_size));
    ByteReader description(raw.subspan(content_size));
    if (!get_content(content, decoded.info) || content.left() != 0 ||
        !get_description(description, decoded.info))
        return nonsense;
    decoded.content_hash = hash_bytes(raw.first(content_size));
    return decoded;
}

}  // namespace tidemark::tmk
