// Parsing "key=value,key=value" according to declarations, and typed access to the result.
#include "core/base/options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 7> kTypeNames{"bytes",  "count", "real", "boolean",
                                                     "choice", "text",  "file"};

// The spellings of yes and no in Python, in C++ and by hand.
Result<bool> parse_boolean(std::string_view text) {
    constexpr std::array<std::string_view, 5> kTrue{"true", "True", "1", "on", "yes"};
    constexpr std::array<std::string_view, 5> kFalse{"false", "False", "0", "off", "no"};
    if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end())
        return true;
    if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end())
        return false;
    return fail(ErrorCode::bad_option, fmt::format("'{}' is neither true nor false", text));
}

// Writes "did you mean" for an unknown word, or lists the known ones.
std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
    if (known.empty())
        return "it has no options";
    if (const std::string_view near = nearest(word, known); !near.empty())
        return fmt::format("did you mean '{}'?", near);
    return fmt::format("one of: {}", fmt::join(known, ", "));
}

// Compares two texts of a type by value: -1, 0, 1. Both must parse, or the error is returned.
template <class Parse>
Result<int> compare_as(Parse parse, std::string_view a, std::string_view b) {
    TM_ASSIGN(const auto left, parse(a));
    TM_ASSIGN(const auto right, parse(b));
    return left < right ? -1 : (right < left ? 1 : 0);
}

Result<int> compare(OptionType type, std::string_view a, std::string_view b) {
    switch (type) {
        case OptionType::bytes:
            return compare_as(parse_bytes, a, b);
        case OptionType::count:
            return compare_as(parse_count, a, b);
        case OptionType::real:
            return compare_as(parse_real, a, b);
        case OptionType::boolean:
            return compare_as(parse_boolean, a, b);
        case OptionType::choice:
        case OptionType::text:
        case OptionType::file:
            break;
    }
    return a.compare(b);
}

// Is `value` of the declared type, and within its range?
Result<void> check_value(const OptionInfo& option, std::string_view value) {
    TM_TRY(compare(option.type, value, value));
    if (!option.minimum.empty()) {
        TM_ASSIGN(const int order, compare(option.type, value, option.minimum));
        if (order < 0)
            return fail(ErrorCode::bad_option,
                        fmt::format("{} is below its least value, {}", value, option.minimum));
    }
    if (!option.maximum.empty()) {
        TM_ASSIGN(const int order, compare(option.type, value, option.maximum));
        if (order > 0)
            return fail(ErrorCode::bad_option,
                        fmt::format("{} is above its largest value, {}", value, option.maximum));
    }
    const auto& choices = option.choices;
    if (option.type == OptionType::choice &&
        std::find(choices.begin(), choices.end(), value) == choices.end())
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a choice", value), {},
                    suggestion(value, choices));
    return {};
}

// Removes and returns the text up to the next comma outside brackets.
Result<std::string_view> take_entry(std::string_view& text) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < text.size(); ++end) {
        const char letter = text[end];
        if (letter == ',' && depth == 0)
            break;
        depth += letter == '[' ? 1 : (letter == ']' ? -1 : 0);
        if (depth < 0)
            break;
    }
    const std::string_view entry = text.substr(0, end);
    if (depth != 0)
        return fail(ErrorCode::bad_option, fmt::format("unbalanced brackets in '{}'", text));
    if (end + 1 == text.size())
        return fail(ErrorCode::bad_option, fmt::format("nothing follows the comma in '{}'", text));
    text.remove_prefix(std::min(end + 1, text.size()));
    return entry;
}

// Parses one "key=value" and stores it.
Result<void> read_entry(std::string_view entry, std::span<const OptionInfo> declared,
                        std::span<std::string> given, std::vector<bool>& seen) {
    const std::size_t mark = entry.find_first_of("=:");
    if (mark == std::string_view::npos)
        return fail(ErrorCode::bad_option, fmt::format("'{}' has no value", trimmed(entry)), {},
                    "write key=value,key=value");
    const std::string_view name = trimmed(entry.substr(0, mark));
    const std::string_view value = trimmed(entry.substr(mark + 1));
    const auto found =
        std::find_if(declared.begin(), declared.end(),
                     [name](const OptionInfo& option) { return option.name == name; });
    if (found == declared.end()) {
        std::vector<std::string_view> names;
        for (const OptionInfo& option : declared)
            names.push_back(option.name);
        return fail(ErrorCode::bad_option, fmt::format("unrecognized key '{}'", name), {},
                    suggestion(name, names));
    }
    const auto index = static_cast<std::size_t>(found - declared.begin());
    if (seen[index])
        return fail(ErrorCode::bad_option, fmt::format("option '{}' is given twice", name));
    seen[index] = true;
    if (auto checked = check_value(*found, value); !checked) {
        Error error = std::move(checked).error();
        error.what = fmt::format("{}: {}", name, error.what);
        return tl::make_unexpected(std::move(error));
    }
    given[index] = found->type != OptionType::boolean ? value
                   : *parse_boolean(value)            ? "true"
                                                      : "false";
    return {};
}

}  // namespace

std::string_view to_text(OptionType type) {
    const auto index = static_cast<std::size_t>(type);
    TM_CHECK(index < kTypeNames.size());
    return kTypeNames[index];
}

const OptionInfo& Options::info(std::string_view name) const {
    const auto found =
        std::find_if(declared_.begin(), declared_.end(),
                     [name](const OptionInfo& option) { return option.name == name; });
    TM_CHECK(found != declared_.end());
    return *found;
}

std::string_view Options::text(std::string_view name) const {
    return values_[static_cast<std::size_t>(&info(name) - declared_.data())].second;
}

Bytes Options::bytes(std::string_view name) const {
    TM_CHECK(info(name).type == OptionType::bytes);
    return *parse_bytes(text(name));
}

std::uint64_t Options::count(std::string_view name) const {
    TM_CHECK(info(name).type == OptionType::count);
    return *parse_count(text(name));
}

double Options::real(std::string_view name) const {
    TM_CHECK(info(name).type == OptionType::real);
    return *parse_real(text(name));
}

bool Options::boolean(std::string_view name) const {
    TM_CHECK(info(name).type == OptionType::boolean);
    return *parse_boolean(text(name));
}

std::string_view Options::choice(std::string_view name) const {
    TM_CHECK(info(name).type == OptionType::choice);
    return text(name);
}

bool Options::is_default(std::string_view name) const {
    const OptionInfo& option = info(name);
    return compare(option.type, text(name), option.default_value) == 0;
}

Result<Options> Options::parse(std::span<const OptionInfo> declared, std::string_view text,
                               std::string_view where) {
    std::vector<std::string> given(declared.size());
    std::vector<bool> seen(declared.size(), false);
    const auto read = [&]() -> Result<void> {
        for (std::string_view rest = trimmed(text); !rest.empty();) {
            TM_ASSIGN(const std::string_view entry, take_entry(rest));
            TM_TRY(read_entry(entry, declared, given, seen));
        }
        return {};
    };
    if (auto done = read(); !done) {
        Error error = std::move(done).error();
        error.where = where;
        return tl::make_unexpected(std::move(error));
    }
    Options options;
    options.declared_ = declared;
    for (std::size_t i = 0; i < declared.size(); ++i) {
        TM_CHECK(check_value(declared[i], declared[i].default_value));
        options.values_.emplace_back(declared[i].name,
                                     seen[i] ? std::move(given[i]) : declared[i].default_value);
    }
    return options;
}

Result<Options> Options::take(std::span<const OptionInfo> declared, std::string& text,
                              std::string_view where) {
    std::string taken;
    std::string left;
    for (std::string_view rest = trimmed(text); !rest.empty();) {
        const auto entry = take_entry(rest);
        if (!entry)
            return parse({}, text, where);  // for its error
        const std::string_view name = trimmed(entry->substr(0, entry->find_first_of("=:")));
        std::string& side = std::any_of(declared.begin(), declared.end(),
                                        [name](const OptionInfo& one) { return one.name == name; })
                                ? taken
                                : left;
        side += fmt::format("{}{}", side.empty() ? "" : ",", *entry);
    }
    text = std::move(left);
    return parse(declared, taken, where);
}

std::string with_options(std::string_view name, const Options& options) {
    std::string text(name);
    char mark = text.find(':') == text.npos ? ':' : ',';
    for (const auto& [option, value] : options.all()) {
        if (options.is_default(option))
            continue;
        text += fmt::format("{}{}={}", mark, option, value);
        mark = ',';
    }
    return text;
}

}  // namespace tidemark
