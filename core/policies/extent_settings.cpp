// The extent pool's options and their checks.
#include "core/policies/extent_settings.h"

#include <array>

#include <fmt/format.h>

namespace tidemark::policies {
namespace {

constexpr std::string_view kExtentSource = "simulations of recorded programs";

constexpr std::array kExtentOptions = std::to_array<OptionInfo>({
    {.name = "slack",
     .type = OptionType::real,
     .default_value = "0.03",
     .minimum = "0",
     .maximum = "10",
     .summary = "reserved memory may exceed the most that was ever live by this share before free "
                "parts are stitched together; more is faster",
     .source = kExtentSource},
    {.name = "handle",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "256MiB",
     .minimum = "64KiB",
     .maximum = "1TiB",
     .summary = "without `expect`: size of the largest piece of physical memory, or 1/64 of the "
                "most that was live if that is more; smaller pieces are easier to combine, but "
                "cost more driver calls",
     .source = kExtentSource},
    {.name = "slab",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "2MiB",
     .minimum = "64KiB",
     .maximum = "1GiB",
     .summary = "requests below half of this size are packed into blocks of this size",
     .source = kExtentSource},
    {.name = "candidates",
     .type = OptionType::count,
     .default_value = "8",
     .minimum = "1",
     .maximum = "1000",
     .summary =
         "of this many tightest-fitting free blocks, the one that loses least by it is split",
     .source = kExtentSource},
    {.name = "edge",
     .type = OptionType::real,
     .default_value = "0.5",
     .minimum = "0",
     .maximum = "1",
     .summary = "worth of free memory at the edge of a piece, relative to a whole free piece",
     .source = kExtentSource},
    {.name = "leftover",
     .type = OptionType::real,
     .default_value = "0.5",
     .minimum = "0",
     .maximum = "100",
     .summary =
         "cost of a byte left over from a split block, relative to a byte of a whole free piece",
     .source = kExtentSource},
    {.name = "worth",
     .type = OptionType::real,
     .default_value = "0.0005",
     .minimum = "0.000001",
     .maximum = "1",
     .summary =
         "mapping one more piece is worth this much memory, as a share of the most that was live",
     .source = kExtentSource},
    {.name = "patience",
     .type = OptionType::real,
     .default_value = "0.4",
     .minimum = "0",
     .maximum = "1000000",
     .summary = "stitched pieces per 12 MiB of the most that was live; beyond this number each "
                "further piece raises the slack, up to 0.08, since the program fragments its "
                "memory too fast for stitching to pay",
     .source = kExtentSource},
    {.name = "mappings",
     .type = OptionType::count,
     .default_value = "256",
     .maximum = "1000000",
     .summary = "how many second mappings of pieces are kept for later requests",
     .source = kExtentSource},
    {.name = "expect",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "the most memory that is expected to be live, from a prediction or an earlier run: "
                "nearly all of it is reserved in a few large pieces before anything is stitched, "
                "and slack applies to what is live beyond it; 0 = unknown",
     .source = kExtentSource},
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "most that may be reserved, 0 = no limit"},
    {.name = "va_size",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "8TiB",
     .minimum = "64KiB",
     .maximum = "64TiB",
     .summary = "address space that is reserved"},
});

tl::unexpected<Error> refuse_extent(ErrorCode code, std::string what, std::string hint = {}) {
    return fail(code, std::move(what), "policy extent", std::move(hint));
}

}  // namespace

std::span<const OptionInfo> extent_options() {
    return kExtentOptions;
}

Result<ExtentSettings> ExtentSettings::from(const Options& options, const Device& device) {
    if (!device.has(Feature::virtual_memory))
        return refuse_extent(ErrorCode::unsupported, "the device has no virtual memory management",
                             "best-fit is the same without stitching");
    ExtentSettings settings;
    settings.slack = options.real("slack");
    settings.handle = options.bytes("handle");
    settings.slab = options.bytes("slab");
    settings.patience = options.real("patience");
    settings.worth = options.real("worth");
    settings.mappings = static_cast<std::uint32_t>(options.count("mappings"));
    settings.expect = options.bytes("expect");
    settings.limit = options.bytes("limit");
    settings.va_size = options.bytes("va_size");
    settings.placement.candidates = static_cast<std::uint32_t>(options.count("candidates"));
    settings.placement.edge = options.real("edge");
    settings.placement.leftover = options.real("leftover");
    const Bytes granularity = device.granularity();
    for (const auto& [name, bytes] : {std::pair<std::string_view, Bytes>{"handle", settings.handle},
                                      {"va_size", settings.va_size}})
        if (bytes % granularity != 0)
            return refuse_extent(
                ErrorCode::bad_option,
                fmt::format("{} is {} bytes, not a multiple of the device's granularity, {}", name,
                            bytes, granularity));
    return settings;
}

}  // namespace tidemark::policies
