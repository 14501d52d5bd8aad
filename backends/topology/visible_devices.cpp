// One entry after another.
#include "backends/topology/visible_devices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

std::string_view without_blanks(std::string_view text) {
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && blank(text.back()))
        text.remove_suffix(1);
    return text;
}

// Whether `text` begins with `prefix`, whichever case its letters have.
bool begins_with(std::string_view text, std::string_view prefix) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return text.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), text.begin(),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

tl::unexpected<Error> refuse(std::string what, std::size_t resolved) {
    return fail(ErrorCode::bad_option, std::move(what), "visible devices",
                "CUDA would ignore it and everything after it, and show " +
                    format_counted(resolved, "GPU"));
}

Result<std::size_t> resolve_number(std::string_view entry, std::size_t count,
                                   std::size_t resolved) {
    std::uint64_t number = 0;
    const char* const end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data(), end, number);
    if (error != std::errc() || stop != end)
        return refuse(fmt::format("invalid numeric entry '{}'", entry), resolved);
    if (number >= count)
        return refuse(fmt::format("'{}' is out of range: there are {} GPUs", entry, count),
                      resolved);
    return static_cast<std::size_t>(number);
}

// Whether the entry names this GPU or an instance of it.
bool names(std::string_view entry, const NamedGpu& gpu) {
    constexpr std::string_view kOldInstance = "MIG-GPU-";
    if (begins_with(entry, kOldInstance)) {
        const std::string_view uuid = entry.substr(4, entry.find('/') - 4);
        return uuid.size() == gpu.uuid.size() && begins_with(gpu.uuid, uuid);
    }
    return begins_with(gpu.uuid, entry) ||
           std::any_of(gpu.mig.begin(), gpu.mig.end(),
                       [&](const std::string& mig) { return begins_with(mig, entry); });
}

Result<std::size_t> resolve_uuid(std::string_view entry, std::span<const NamedGpu> all,
                                 std::size_t resolved) {
    constexpr std::size_t kKind = 4;  // "GPU-"
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < all.size() && entry.size() > kKind; ++i) {
        if (!names(entry, all[i]))
            continue;
        if (found)
            return refuse(fmt::format("'{}' is ambiguous: GPUs {} and {}", entry, *found, i),
                          resolved);
        found = i;
    }
    if (!found)
        return refuse(fmt::format("'{}' is not a GPU of this computer", entry), resolved);
    return *found;
}

Result<std::size_t> resolve(std::string_view entry, std::span<const NamedGpu> all,
                            std::size_t resolved) {
    if (entry.empty())
        return refuse("an empty entry", resolved);
    if (begins_with(entry, "GPU-") || begins_with(entry, "MIG-"))
        return resolve_uuid(entry, all, resolved);
    return resolve_number(entry, all.size(), resolved);
}

}  // namespace

Result<VisibleDevices> visible_devices(std::optional<std::string_view> text,
                                       std::span<const NamedGpu> all) {
    VisibleDevices visible;
    if (!text) {
        visible.resize(all.size());
        std::iota(visible.begin(), visible.end(), std::size_t{0});
        return visible;
    }
    if (without_blanks(*text).empty())
        return visible;
    for (std::size_t begin = 0; begin <= text->size();) {
        const std::size_t comma = std::min(text->find(',', begin), text->size());
        const std::string_view entry = without_blanks(text->substr(begin, comma - begin));
        if (entry == "-1")
            break;
        TM_ASSIGN(const std::size_t gpu, resolve(entry, all, visible.size()));
        if (std::find(visible.begin(), visible.end(), gpu) == visible.end())
            visible.push_back(gpu);
        begin = comma + 1;
    }
    return visible;
}

}  // namespace tidemark
