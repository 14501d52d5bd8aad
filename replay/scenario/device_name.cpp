// Reading the name of a device.
#include "replay/scenario/device_name.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr int kLargestOrdinal = 1023;

tl::unexpected<Error> unknown(std::string_view text) {
    constexpr std::array<std::string_view, 4> kForms{"cuda:0", "sim:h200", "cuda", "sim"};
    const std::string_view near = nearest(text, kForms);
    return fail(ErrorCode::bad_option, fmt::format("'{}' is not a device", text), "--device",
                near.empty() ? "cuda:0 is the first GPU, sim:h200 a simulated one"
                             : fmt::format("did you mean {}?", near));
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest =
        colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    const bool colon_at_end = colon != std::string_view::npos && rest.empty();
    if (text.empty() || (kind == "sim" && !colon_at_end))
        return DeviceName{.profile = std::string(rest)};
    if (kind != "cuda" || colon_at_end)
        return unknown(text);
    DeviceName name{.real = true};
    if (rest.empty())
        return name;
    const char* const end = rest.data() + rest.size();
    const auto [stop, fault] = std::from_chars(rest.data(), end, name.ordinal);
    if (fault != std::errc{} || stop != end || name.ordinal < 0 || name.ordinal > kLargestOrdinal)
        return unknown(text);
    return name;
}

}  // namespace tidemark
