// PYTORCH_ALLOC_CONF: its keys, its syntax, and how it rounds sizes.
#include "core/policies/torch_settings.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::policies {
namespace {

constexpr std::size_t kOctaves = std::tuple_size_v<decltype(TorchSettings::divisions)>;

Bytes round_to_division(Bytes size, Bytes divisions) {
    if (is_power_of_two(size))
        return size;
    const Bytes floor = std::bit_floor(size);
    const Bytes step = floor >> (std::bit_width(divisions) - 1);
    return step == 0 ? 2 * floor : align_up(size, step);
}

constexpr std::string_view kConf = "PYTORCH_ALLOC_CONF";

constexpr std::array<OptionInfo, 6> kOptions{{
    {.name = "max_split_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .maximum = "1000000000",
     .summary = "blocks of this size and above are never split and serve only such requests; 0 = "
                "no limit, else at least 20",
     .source = kConf},
    {.name = "max_non_split_rounding_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "20",
     .minimum = "20",
     .maximum = "1000000000",
     .summary = "how much larger than its request an unsplittable block may be",
     .source = kConf},
    {.name = "roundup_power2_divisions",
     .type = OptionType::text,
     .default_value = "0",
     .summary = "round requests up to this many steps between powers of two: one number, or a list "
                "[256:1,512:2,>:8] by MiB",
     .source = kConf},
    {.name = "garbage_collection_threshold",
     .type = OptionType::real,
     .default_value = "0",
     .minimum = "0",
     .maximum = "1",
     .summary = "release old unused blocks when more than this fraction of the limit is reserved; "
                "0 = off; needs a limit",
     .source = kConf},
    {.name = "large_segment_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "20",
     .minimum = "11",
     .maximum = "1000000",
     .summary = "size of the segments that requests from 1 MiB to 10 MiB are cut from",
     .source = kConf},
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "most that may be reserved, 0 = no limit",
     .source = "torch.cuda.set_per_process_memory_fraction"},
}};

// One entry of roundup_power2_divisions: 0, or a power of two.
Result<Bytes> parse_division(std::string_view text) {
    TM_ASSIGN(const std::uint64_t value, parse_count(text));
    if (value != 0 && !is_power_of_two(value))
        return fail(ErrorCode::bad_option, fmt::format("{} is not a power of two", value),
                    "roundup_power2_divisions");
    return value;
}

// "[256:1,512:2,>:8]": keys are powers of two in MiB. The first key also fills everything below it,
// '>' everything above the last; intervals between two keys keep 0.
Result<void> parse_division_list(std::string_view text, TorchSettings& settings) {
    std::size_t last = 0;
    bool first = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view entry = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t colon = entry.find(':');
        if (colon == std::string_view::npos)
            return fail(ErrorCode::bad_option, fmt::format("'{}' has no ':'", entry),
                        "roundup_power2_divisions", "write [256:1,512:2,>:8]");
        TM_ASSIGN(const Bytes value, parse_division(entry.substr(colon + 1)));
        if (entry.substr(0, colon) == ">") {
            for (std::size_t i = first ? 0 : last + 1; i < kOctaves; ++i)
                settings.divisions[i] = value;
            continue;
        }
        TM_ASSIGN(const Bytes key, parse_division(entry.substr(0, colon)));
        last = key == 0 ? 0
                        : std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(key)) - 1,
                                                kOctaves - 1);
        for (std::size_t i = first ? 0 : last; i <= last; ++i)
            settings.divisions[i] = value;
        first = false;
    }
    return {};
}

Result<void> parse_divisions(std::string_view text, TorchSettings& settings) {
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
        TM_TRY(parse_division_list(text.substr(1, text.size() - 2), settings));
    } else {
        TM_ASSIGN(const Bytes value, parse_division(text));
        settings.divisions.fill(value);
    }
    settings.has_divisions = std::any_of(settings.divisions.begin(), settings.divisions.end(),
                                         [](Bytes value) { return value > 1; });
    return {};
}

}  // namespace

Bytes TorchSettings::round_size(Bytes size) const {
    if (size < kTorchMinBlock)
        return kTorchMinBlock;
    if (has_divisions) {
        const int octave = static_cast<int>(std::bit_width(size)) - 1 - 20;
        const Bytes steps = divisions[static_cast<std::size_t>(std::clamp(octave, 0, 15))];
        if (steps > 1 && size > kTorchMinBlock * steps)
            return round_to_division(size, steps);
    }
    return align_up(size, kTorchMinBlock);
}

Bytes TorchSettings::segment_size(Bytes rounded) const {
    if (rounded <= kTorchSmallMax)
        return kTorchSmallSegment;
    if (rounded < kTorchMinLarge)
        return large_segment;
    return align_up(rounded, kTorchRoundLarge);
}

std::span<const OptionInfo> torch_options() {
    return kOptions;
}

Result<TorchSettings> TorchSettings::from(const Options& options) {
    TorchSettings settings;
    settings.max_non_split_rounding = options.count("max_non_split_rounding_mb") * 1_MiB;
    settings.large_segment = options.count("large_segment_size_mb") * 1_MiB;
    settings.gc_threshold = options.real("garbage_collection_threshold");
    settings.limit = options.bytes("limit");
    if (const std::uint64_t max_split = options.count("max_split_size_mb"); max_split != 0) {
        if (max_split * 1_MiB < settings.large_segment)
            return fail(ErrorCode::bad_option,
                        fmt::format("max_split_size_mb is {}, below the size of a large segment",
                                    max_split),
                        "torch", "PyTorch too refuses values below 20");
        settings.max_split = max_split * 1_MiB;
    }
    TM_TRY(parse_divisions(options.text("roundup_power2_divisions"), settings));
    return settings;
}

}  // namespace tidemark::policies
