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
constexpr std::string_view kIgnored = "PYTORCH_ALLOC_CONF; no effect here";

constexpr std::array<std::string_view, 3> kTorchSettingsVariables{
    "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"};

constexpr std::array<std::string_view, 3> kBackends{"native", "cudaMallocAsync", "hipMallocAsync"};

constexpr std::array<std::string_view, 17> kVersions{"1.13", "2.0",  "2.1",  "2.2",  "2.3", "2.4",
                                                     "2.5",  "2.6",  "2.7",  "2.8",  "2.9", "2.10",
                                                     "2.11", "2.12", "2.13", "2.14", "2.15"};

constexpr unsigned kFirstWithNonSplitRounding = 206;  // before: always 20 MiB
constexpr unsigned kFirstWithWholeUnlimited = 209;    // a fraction of 1 became "no limit"

constexpr std::array kTorchSettingsOptions = std::to_array<OptionInfo>({
    {.name = "expandable_segments",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "grow segments page by page inside reserved addresses",
     .source = kConf},
    {.name = "max_split_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .summary = "blocks of this size and above are never split and serve only such requests; 0 = "
                "no limit, else at least the size of a large segment (20)",
     .source = kConf},
    {.name = "max_non_split_rounding_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "20",
     .minimum = "20",
     .summary = "how much larger than its request an unsplittable block may be; before version 2.6 "
                "always 20",
     .source = kConf},
    {.name = "roundup_power2_divisions",
     .type = OptionType::text,
     .default_value = "0",
     .summary = "round requests up to this many steps between powers of two: one number, or a list "
                "[256:1,512:2,>:8] by MiB; numbers are powers of two, 0 and 1 = off",
     .source = kConf},
    {.name = "garbage_collection_threshold",
     .type = OptionType::real,
     .default_value = "0",
     .minimum = "0",
     .maximum = "1",
     .summary = "release old unused blocks when more than this fraction of the limit is reserved; "
                "below 1; 0 = off; needs a limit",
     .source = kConf},
    {.name = "large_segment_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "20",
     .minimum = "11",
     .maximum = "1000000",
     .summary = "size of the segments that requests from 1 MiB to 10 MiB are cut from",
     .source = kConf},
    {.name = "per_process_memory_fraction",
     .type = OptionType::real,
     .default_value = "0",
     .minimum = "0",
     .maximum = "1",
     .summary = "limit on reserved bytes as a fraction of the device's memory; 0 = never set; 1 = "
                "no limit from version 2.9 on, all of the memory before",
     .source = kConf},
    {.name = "backend",
     .type = OptionType::choice,
     .default_value = "native",
     .choices = kBackends,
     .summary = "native is PyTorch's own allocator; cudaMallocAsync leaves everything to the "
                "driver's pool",
     .source = kConf},
    {.name = "graph_capture_record_stream_reuse",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: recordings don't say what a captured graph's topology lets the "
                "allocator reuse",
     .source = kIgnored},
    {.name = "release_lock_on_cudamalloc",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: only racing threads notice it",
     .source = kIgnored},
    {.name = "throw_on_cudamalloc_oom",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "a request beyond per_process_memory_fraction or limit fails before any cache is "
                "emptied for it; from version 2.12 on",
     .source = kConf},
    {.name = "expandable_segments_reserve",
     .default_value = "off",
     .summary = "address space that an expandable segment reserves, which no request may exceed: a "
                "fraction of the device's memory (0.5) or GiB (40G); off = 9/8 of the memory, "
                "which is also the maximum; from version 2.13 on",
     .source = kConf},
    {.name = "expandable_segments_reserve_by_class",
     .default_value = "off",
     .summary = "no effect here: recordings don't say which class a stream has",
     .source = kIgnored},
    {.name = "release_lock_on_hipmalloc",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: only racing threads notice it",
     .source = kIgnored},
    {.name = "pinned_use_hip_host_register",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_max_cached_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_max_round_threshold_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_free_catch_all",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_use_cuda_host_register",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_num_register_threads",
     .type = OptionType::count,
     .default_value = "1",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_use_background_threads",
     .type = OptionType::boolean,
     .default_value = "false",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_reserve_segment_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "pinned_max_power2_size_mb",
     .type = OptionType::count,
     .unit = "MiB",
     .default_value = "0",
     .summary = "no effect here: host memory",
     .source = kIgnored},
    {.name = "version",
     .type = OptionType::choice,
     .default_value = "2.11",
     .choices = kVersions,
     .summary = "version of PyTorch to follow where versions differ",
     .source = "PyTorch's releases"},
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "most that may be reserved, 0 = no limit",
     .source = "torch.cuda.set_per_process_memory_fraction"},
});

tl::unexpected<Error> refuse(std::string what, std::string hint = {}) {
    return fail(ErrorCode::bad_option, std::move(what), "policy torch", std::move(hint));
}

Result<std::uint64_t> parse_number(std::string_view text) {
    const Result<std::uint64_t> number = parse_count(text);
    if (!number)
        return refuse(fmt::format("roundup_power2_divisions: {}", number.error().what),
                      "write [256:1,512:2,>:8]");
    return *number;
}

// Steps of one interval: 0, or a power of two.
Result<Bytes> parse_steps(std::string_view text) {
    TM_ASSIGN(const std::uint64_t value, parse_number(text));
    if (value != 0 && !is_power_of_two(value))
        return refuse(
            fmt::format("roundup_power2_divisions: {} divisions are not a power of two", value));
    return value;
}

// The octave of an interval's key, in MiB.
Result<std::size_t> parse_octave(std::string_view text) {
    TM_ASSIGN(const std::uint64_t key, parse_number(text));
    if (!is_power_of_two(key))
        return refuse(fmt::format("roundup_power2_divisions: {} MiB is not a power of two", key));
    return std::min(static_cast<std::size_t>(std::bit_width(key)) - 1, kOctaves - 1);
}

// "256:1,512:2,>:8": keys are powers of two in MiB. The first key also fills everything below it,
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
            return refuse(fmt::format("roundup_power2_divisions: '{}' has no ':'", entry),
                          "write [256:1,512:2,>:8]");
        TM_ASSIGN(const Bytes value, parse_steps(entry.substr(colon + 1)));
        if (entry.substr(0, colon) == ">") {
            for (std::size_t i = first ? 0 : last + 1; i < kOctaves; ++i)
                settings.divisions[i] = value;
            continue;
        }
        TM_ASSIGN(last, parse_octave(entry.substr(0, colon)));
        for (std::size_t i = first ? 0 : last; i <= last; ++i)
            settings.divisions[i] = value;
        first = false;
    }
    return {};
}

Result<void> parse_divisions(std::string text, TorchSettings& settings) {
    std::erase(text, ' ');
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
        TM_TRY(parse_division_list(std::string_view(text).substr(1, text.size() - 2), settings));
    } else {
        TM_ASSIGN(const Bytes value, parse_steps(text));
        settings.divisions.fill(value);
    }
    settings.has_divisions = std::any_of(settings.divisions.begin(), settings.divisions.end(),
                                         [](Bytes value) { return value > 1; });
    return {};
}

// "2.3": 203. One of kVersions.
unsigned parse_version(std::string_view text) {
    const std::size_t dot = text.find('.');
    return static_cast<unsigned>(100 * *parse_count(text.substr(0, dot)) +
                                 *parse_count(text.substr(dot + 1)));
}

// "off", "0.5" (of the device's memory) or "40G".
Result<void> parse_reserve(std::string_view text, TorchSettings& settings) {
    if (text == "off")
        return {};
    const bool in_gib = text.ends_with('G');
    const Result<double> value = parse_real(text.substr(0, text.size() - (in_gib ? 1 : 0)));
    constexpr double kMostGib = 1 << 20U;
    if (!value || !(*value > 0 && *value <= kMostGib))
        return refuse(fmt::format("expandable_segments_reserve: '{}' is not a size", text),
                      "write a fraction of the device's memory (0.5) or GiB (40G)");
    if (in_gib)
        settings.reserve_bytes = static_cast<Bytes>(*value * static_cast<double>(1_GiB));
    else
        settings.reserve_part = *value;
    return {};
}

// A size in MiB, as bytes; a size beyond all memory stays beyond it.
Bytes from_mib(std::uint64_t count) {
    return std::min<std::uint64_t>(count, kLargestRequest / 1_MiB) * 1_MiB;
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

Bytes TorchSettings::limit_on(Bytes total) const {
    if (fraction <= 0 || (fraction >= 1 && version >= kFirstWithWholeUnlimited))
        return limit;
    const auto part = static_cast<Bytes>(fraction * static_cast<double>(total));
    return std::max<Bytes>(limit == 0 ? part : std::min(limit, part), 1);  // 0 would be no limit
}

Bytes TorchSettings::reservation_on(Bytes total) const {
    const Bytes most = total + total / 8;
    if (reserve_bytes)
        return std::min(*reserve_bytes, most);
    if (reserve_part)
        return static_cast<Bytes>(
            std::min(*reserve_part * static_cast<double>(total), static_cast<double>(most)));
    return most;
}

std::span<const OptionInfo> torch_options() {
    return kTorchSettingsOptions;
}

std::span<const std::string_view> torch_variables() {
    return kTorchSettingsVariables;
}

bool torch_ignores(std::string_view name) {
    const auto found =
        std::find_if(kTorchSettingsOptions.begin(), kTorchSettingsOptions.end(),
                     [name](const OptionInfo& option) { return option.name == name; });
    return found != kTorchSettingsOptions.end() && found->source == kIgnored;
}

Result<TorchSettings> TorchSettings::from(const Options& options) {
    if (options.choice("backend") != "native")
        return refuse(fmt::format("backend:{} leaves every decision to the driver's pool",
                                  options.choice("backend")),
                      "a program chooses its backend before it starts");
    TorchSettings settings;
    settings.version = parse_version(options.choice("version"));
    if (settings.version >= kFirstWithNonSplitRounding)
        settings.max_non_split_rounding = from_mib(options.count("max_non_split_rounding_mb"));
    settings.large_segment = from_mib(options.count("large_segment_size_mb"));
    settings.gc_threshold = options.real("garbage_collection_threshold");
    settings.limit = options.bytes("limit");
    settings.expandable = options.boolean("expandable_segments");
    settings.fraction = options.real("per_process_memory_fraction");
    settings.throws_early = options.boolean("throw_on_cudamalloc_oom");
    TM_TRY(parse_reserve(options.text("expandable_segments_reserve"), settings));
    if (settings.gc_threshold >= 1)
        return refuse("garbage_collection_threshold must be below 1",
                      "it is the fraction of the limit above which unused blocks are released");
    if (const std::uint64_t max_split = options.count("max_split_size_mb"); max_split != 0) {
        settings.max_split = from_mib(max_split);
        if (settings.max_split < settings.large_segment)
            return refuse(
                fmt::format("max_split_size_mb is {}, below the size of a large segment, {}",
                            max_split, settings.large_segment / 1_MiB),
                "PyTorch rejects it as well");
    }
    TM_TRY(parse_divisions(std::string(options.text("roundup_power2_divisions")), settings));
    return settings;
}

}  // namespace tidemark::policies
