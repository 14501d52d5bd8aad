// A query, item by item.
#include "viz/model/navigation/filter_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/owners.h"

namespace tidemark::viz {
namespace {

constexpr Bytes kMost = ~Bytes{0};
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kSigns[] = {">=", "<=", ">", "<", "="};  // the longer ones first

// The traits that are typed by name; the others are numbers and sizes.
constexpr std::array kNamedOwners{BlockTrait::tag, BlockTrait::stack, BlockTrait::module,
                                  BlockTrait::annotation};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

// The sign that `word` begins with, if a size follows: "<module>" is a name.
std::string_view sign_of(std::string_view word) {
    for (const std::string_view sign : kSigns) {
        if (word.starts_with(sign))
            return word.size() > sign.size() && is_digit(word[sign.size()]) ? sign
                                                                            : std::string_view();
    }
    return {};
}

// "stream=7" with the name "stream": 7.
std::optional<std::uint32_t> number_of(std::string_view word, std::string_view name) {
    if (!word.starts_with(name) || word.size() < name.size() + 2 || word[name.size()] != '=')
        return std::nullopt;
    const auto number = parse_count(word.substr(name.size() + 1));
    if (!number || *number > ~std::uint32_t{0})
        return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

// "0x7f2c00000000", as lists print an address.
std::optional<Address> address_of(std::string_view word) {
    if (!word.starts_with("0x"))
        return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + 2, end, number, 16);
    if (error != std::errc() || stop != end)
        return std::nullopt;
    return Address{number};
}

// Takes a name off the front: up to a blank, or between quotes. An end of quotes may be missing.
std::string take_name(std::string_view& query) {
    std::string name;
    if (!query.starts_with('"')) {
        name = query.substr(0, query.find_first_of(kBlanks));
        query.remove_prefix(name.size());
        return name;
    }
    query.remove_prefix(1);
    while (!query.empty() && !query.starts_with('"')) {
        if (query.front() == '\\' && query.size() > 1)
            query.remove_prefix(1);
        name += query.front();
        query.remove_prefix(1);
    }
    query.remove_prefix(std::min<std::size_t>(query.size(), 1));
    return name;
}

// Takes "tag=weights" and similar off the front, if it is there.
bool take_owner(std::string_view& query, Filter& filter) {
    for (const BlockTrait trait : kNamedOwners) {
        const std::string_view word = owner_choice(trait).word;
        if (!query.starts_with(word) || !query.substr(word.size()).starts_with('='))
            continue;
        query.remove_prefix(word.size() + 1);
        filter.owner = OwnerName{trait, take_name(query)};
        return true;
    }
    return false;
}

// The word that take_owner reads as `owner`.
std::string owner_word(const OwnerName& owner) {
    std::string text = fmt::format("{}=", owner_choice(owner.trait).word);
    if (!owner.name.empty() && !owner.name.starts_with('"') &&
        owner.name.find_first_of(kBlanks) == std::string::npos)
        return text + owner.name;
    text += '"';
    for (const char letter : owner.name) {
        if (letter == '"' || letter == '\\')
            text += '\\';
        text += letter;
    }
    return text + '"';
}

Result<void> take_size(std::string_view word, std::string_view sign, Filter& filter) {
    const Result<Bytes> size = parse_bytes(word.substr(sign.size()));
    if (!size)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a size", word), "find",
                    "give >=1MiB, <64KiB or =512");
    const bool is_strict = sign.size() == 1 && sign != "=";
    if (sign == "<" && *size == 0)
        return fail(ErrorCode::bad_option, "nothing is smaller than 0 bytes", "find");
    if (sign.front() != '<')
        filter.least = std::max(filter.least, *size + (is_strict ? 1 : 0));
    if (sign.front() != '>')
        filter.most = std::min(filter.most, *size - (is_strict ? 1 : 0));
    return {};
}

// "64KiB".
std::string size_word(Bytes bytes) {
    const WholeSize size = whole_size(bytes);
    return fmt::format("{}{}", size.count, size.unit);
}

void add_word(std::string& text, std::string_view word) {
    if (!text.empty())
        text += ' ';
    text += word;
}

}  // namespace

WholeSize whole_size(Bytes bytes) {
    for (const auto& [unit, name] :
         {std::pair(1_GiB, "GiB"), std::pair(1_MiB, "MiB"), std::pair(1_KiB, "KiB")})
        if (bytes >= unit && bytes % unit == 0)
            return {bytes / unit, name};
    return {bytes, {}};
}

Result<Filter> parse_filter(std::string_view query) {
    Filter filter;
    while (true) {
        query.remove_prefix(std::min(query.find_first_not_of(kBlanks), query.size()));
        if (query.empty())
            break;
        if (take_owner(query, filter))
            continue;
        const std::string_view word = query.substr(0, query.find_first_of(kBlanks));
        query.remove_prefix(word.size());
        if (const std::string_view sign = sign_of(word); !sign.empty())
            TM_TRY(take_size(word, sign, filter));
        else if (const auto address = address_of(word))
            filter.address = *address;
        else if (const auto stream = number_of(word, "stream"))
            filter.stream = StreamId{*stream};
        else if (const auto pool = number_of(word, "pool"))
            filter.pool = PoolId{*pool};
        else if (const auto device = number_of(word, "device"); device && *device <= 0xffff)
            filter.device = static_cast<std::uint16_t>(*device);
        else
            add_word(filter.text, word);
    }
    if (filter.least > filter.most)
        return fail(ErrorCode::bad_option, "no block has both of these sizes", "find");
    return filter;
}

std::string to_text(const Filter& filter) {
    std::string text = filter.text;
    if (filter.owner)
        add_word(text, owner_word(*filter.owner));
    if (filter.stream)
        add_word(text, fmt::format("stream={}", to_integer(*filter.stream)));
    if (filter.pool)
        add_word(text, fmt::format("pool={}", to_integer(*filter.pool)));
    if (filter.device)
        add_word(text, fmt::format("device={}", *filter.device));
    if (filter.address)
        add_word(text, fmt::format("{:#x}", to_integer(*filter.address)));
    if (filter.least == filter.most) {
        add_word(text, "=" + size_word(filter.least));
        return text;
    }
    if (filter.least > 0)
        add_word(text, ">=" + size_word(filter.least));
    if (filter.most != kMost)
        add_word(text, (filter.most + 1) % 1_KiB == 0 ? "<" + size_word(filter.most + 1)
                                                      : "<=" + size_word(filter.most));
    return text;
}

}  // namespace tidemark::viz
