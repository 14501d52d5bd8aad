// VPMM's options and their checks.
#include "core/policies/vpmm_settings.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::policies {
namespace {

constexpr std::array<std::string_view, 3> kVpmmSettingsVariables{
    "VPMM_PAGE_SIZE=page", "VPMM_VA_SIZE=va_size", "VPMM_PAGES=pages"};

constexpr std::array<std::string_view, 2> kHarvests{"document", "source"};
constexpr std::array<std::string_view, 3> kGrowths{"wait", "grow", "cost"};
constexpr std::array<std::string_view, 2> kCaptures{"reject", "survive"};

constexpr std::array kVpmmSettingsOptions = std::to_array<OptionInfo>({
    {.name = "page",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .maximum = "1TiB",
     .summary = "size of a page, a multiple of the device's granularity; 0 = the granularity; "
                "smaller requests go to the device's own pool",
     .source = "VPMM_PAGE_SIZE"},
    {.name = "va_size",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "8TiB",
     .minimum = "1",
     .maximum = "256TiB",
     .summary = "address space that is reserved at once, a multiple of the page; a request that "
                "needs more reserves more",
     .source = "VPMM_VA_SIZE"},
    {.name = "pages",
     .type = OptionType::count,
     .default_value = "0",
     .maximum = "1000000000",
     .summary = "pages that are created at the start",
     .source = "VPMM_PAGES"},
    {.name = "harvest",
     .type = OptionType::choice,
     .default_value = "document",
     .choices = kHarvests,
     .summary = "document: the free region before the new addresses stays, the stream's other "
                "regions move whole, new pages come last; source: new pages come first, then what "
                "is missing, page by page from the oldest regions",
     .source = "VPMM's document and its program, which differ"},
    {.name = "growth",
     .type = OptionType::choice,
     .default_value = "wait",
     .choices = kGrowths,
     .summary = "what to do when no region fits: wait = move all free memory, other streams' too, "
                "before making pages; grow = make pages while there is memory; cost = move, but "
                "wait only for regions of worth_waiting bytes"},
    {.name = "worth_waiting",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "128MiB",
     .summary = "with growth=cost: wait for another stream's region only if it has at least this "
                "size, else make new pages",
     .source = "64 pages created and released take 0.8 ms on an H200"},
    {.name = "soft_limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "reserved bytes beyond which growth works as with wait, 0 = none"},
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .summary = "most that may be reserved, 0 = no limit"},
    {.name = "waste",
     .type = OptionType::count,
     .default_value = "0",
     .maximum = "1000000",
     .summary = "a free region is split for a request only if it is at most this many times as "
                "large, or if nothing else is left; 0 = any"},
    {.name = "capture",
     .type = OptionType::choice,
     .default_value = "reject",
     .choices = kCaptures,
     .summary = "while a graph is captured, requests that no free region serves: reject = they "
                "fail (out of memory), survive = new pages serve them"},
    {.name = "peers",
     .type = OptionType::text,
     .default_value = "[]",
     .summary =
         "other devices that may read and write the pages: a list, [1,2], or their number, 2"},
});

tl::unexpected<Error> refuse(ErrorCode code, std::string what, std::string hint = {}) {
    return fail(code, std::move(what), "policy vpmm", std::move(hint));
}

// "[1,3]", or "2" for [1,2].
Result<std::vector<std::uint16_t>> parse_peers(std::string text) {
    constexpr std::uint64_t kMost = 1024;
    std::erase(text, ' ');
    std::vector<std::uint16_t> peers;
    const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
    if (!is_list) {
        TM_ASSIGN(const std::uint64_t count, parse_count(text));
        if (count > kMost)
            return refuse(ErrorCode::bad_option, fmt::format("{} peers are too many", count));
        for (std::uint64_t peer = 1; peer <= count; ++peer)
            peers.push_back(static_cast<std::uint16_t>(peer));
        return peers;
    }
    std::string_view rest = std::string_view(text).substr(1, text.size() - 2);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        TM_ASSIGN(const std::uint64_t peer, parse_count(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (peer == 0 || peer > kMost)
            return refuse(ErrorCode::bad_option, fmt::format("{} is not a peer's number", peer),
                          "peers are numbered from 1");
        if (std::find(peers.begin(), peers.end(), peer) != peers.end())
            return refuse(ErrorCode::bad_option, fmt::format("peer {} is named twice", peer));
        peers.push_back(static_cast<std::uint16_t>(peer));
    }
    return peers;
}

Result<void> check_sizes(const VpmmSettings& settings, Bytes granularity) {
    if (settings.page % granularity != 0)
        return refuse(
            ErrorCode::bad_option,
            fmt::format("page is {} bytes, not a multiple of the device's granularity, {}",
                        settings.page, granularity));
    if (settings.va_size % settings.page != 0)
        return refuse(ErrorCode::bad_option,
                      fmt::format("va_size is {} bytes, not a multiple of the page, {}",
                                  settings.va_size, settings.page));
    if (settings.pages > settings.va_size / settings.page)
        return refuse(ErrorCode::bad_option,
                      fmt::format("pages is {}, but va_size has room for {}", settings.pages,
                                  settings.va_size / settings.page));
    return {};
}

}  // namespace

std::span<const OptionInfo> vpmm_options() {
    return kVpmmSettingsOptions;
}

std::span<const std::string_view> vpmm_variables() {
    return kVpmmSettingsVariables;
}

Result<VpmmSettings> VpmmSettings::from(const Options& options, const Device& device) {
    VpmmSettings settings;
    settings.page = options.bytes("page");
    settings.va_size = options.bytes("va_size");
    settings.pages = options.count("pages");
    settings.harvest = options.choice("harvest") == "source" ? Harvest::source : Harvest::document;
    const std::string_view growth = options.choice("growth");
    settings.growth = growth == "wait"   ? Growth::wait
                      : growth == "grow" ? Growth::grow
                                         : Growth::cost;
    settings.worth_waiting = options.bytes("worth_waiting");
    settings.capture = options.choice("capture") == "survive" ? Capture::survive : Capture::reject;
    settings.limit = options.bytes("limit");
    settings.soft_limit = options.bytes("soft_limit");
    settings.waste = options.count("waste");
    TM_ASSIGN(settings.peers, parse_peers(std::string(options.text("peers"))));
    if (!settings.peers.empty() && !device.has(Feature::peer_access))
        return refuse(ErrorCode::unsupported, "the device has no peers", "leave out peers");
    if (!device.has(Feature::virtual_memory)) {
        if (settings.pages != 0)
            return refuse(ErrorCode::unsupported,
                          "the device has no virtual memory management, so there are no pages",
                          "leave out pages: all requests go to the device's own pool");
        settings.page = 0;
        return settings;
    }
    if (settings.page == 0)
        settings.page = device.granularity();
    TM_TRY(check_sizes(settings, device.granularity()));
    return settings;
}

}  // namespace tidemark::policies
