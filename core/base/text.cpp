// Sizes, counts, times and near misses, from and to text.
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

namespace tidemark {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Bytes kLargestSize = Bytes{1} << 63;
constexpr Bytes kLeastPlainNumber = Bytes{1} << 20;  // below, the user probably forgot the unit
constexpr std::string_view kSizeHint = "write a size such as 512, 64KiB, 1.5GiB or 80GB";

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

char to_lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

tl::unexpected<Error> bad(std::string_view text, std::string_view what, std::string_view hint) {
    constexpr std::size_t kShown = 80;  // of the faulty text, so that a message stays one line
    return fail(
        ErrorCode::bad_option,
        fmt::format("'{}{}' {}", text.substr(0, kShown), text.size() > kShown ? "..." : "", what),
        {}, std::string(hint));
}

// The factor of units such as "KiB", "kb" or "G"; 0 for anything else.
Bytes unit_factor(std::string_view unit) {
    if (unit.empty() || (unit.size() == 1 && to_lower(unit[0]) == 'b'))
        return 1;
    constexpr std::string_view kPrefixes = "kmgtp";
    const std::size_t power = kPrefixes.find(to_lower(unit[0]));
    if (power == std::string_view::npos)
        return 0;
    const std::string_view rest = unit.substr(1);
    const bool decimal = rest.size() == 1 && to_lower(rest[0]) == 'b';
    const bool binary =
        rest.empty() || (rest.size() == 2 && to_lower(rest[0]) == 'i' && to_lower(rest[1]) == 'b');
    if (!decimal && !binary)
        return 0;
    Bytes factor = 1;
    for (std::size_t i = 0; i <= power; ++i)
        factor *= decimal ? 1000 : 1024;
    return factor;
}

// Removes the leading digits of `text` and returns their value, or false when it is above 2^64.
bool take_digits(std::string_view& text, std::uint64_t& value) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{})
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

// The digits after a decimal point, at most 18 of them: the rest is below a thousandth of a byte.
struct Fraction {
    std::uint64_t numerator = 0;
    std::uint64_t denominator = 1;
};

Fraction take_fraction(std::string_view& text) {
    Fraction fraction;
    std::size_t used = 0;
    for (; used < text.size() && is_digit(text[used]); ++used) {
        if (used >= 18)
            continue;
        fraction.numerator = fraction.numerator * 10 + static_cast<std::uint64_t>(text[used] - '0');
        fraction.denominator *= 10;
    }
    text.remove_prefix(used);
    return fraction;
}

// Three significant digits; values are below 10,000, and whole from 100 on.
std::string three_digits(double value) {
    if (value < 9.995)
        return fmt::format("{:.2f}", value);
    return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

struct TimeUnit {
    std::string_view name;
    double nanoseconds;
};

constexpr std::array<TimeUnit, 5> kTimeUnits{
    {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    std::string_view rest = text;
    if (rest.empty() || !is_digit(rest[0]))
        return bad(text, "is not a size", kSizeHint);
    std::uint64_t whole = 0;
    if (!take_digits(rest, whole))
        return bad(text, "is above the largest size, 2^63 bytes", {});
    Fraction fraction;
    if (rest.size() >= 2 && rest[0] == '.' && is_digit(rest[1])) {
        rest.remove_prefix(1);
        fraction = take_fraction(rest);
    }
    if (rest.size() >= 2 && rest[0] == ' ')
        rest.remove_prefix(1);
    const Bytes factor = unit_factor(rest);
    if (factor == 0)
        return bad(text, "is not a size", kSizeHint);
    const Wide part = Wide{fraction.numerator} * factor;
    const Wide rounded = (part + fraction.denominator / 2) / fraction.denominator;
    if (fraction.numerator != 0 && (factor == 1 || (whole == 0 && rounded == 0)))
        return bad(text, "is not a whole number of bytes", kSizeHint);
    const Wide total = Wide{whole} * factor + rounded;
    if (total > kLargestSize)
        return bad(text, "is above the largest size, 2^63 bytes", {});
    return static_cast<Bytes>(total);
}

Result<TypedSize> parse_typed_size(std::string_view text) {
    TypedSize size;
    TM_ASSIGN(size.bytes, parse_bytes(text));
    const std::size_t digits = std::min(text.find_first_not_of("0123456789. "), text.size());
    const std::string_view number = text.substr(0, digits);
    const std::string_view unit = text.substr(digits);
    if (unit.empty() && size.bytes > 0 && size.bytes < kLeastPlainNumber)
        return bad(text, "has no unit", fmt::format("{}GiB? Bytes are written as {}B", text, text));
    if (unit.size() == 1 && to_lower(unit[0]) != 'b') {
        const auto letter = static_cast<char>(to_lower(unit[0]) - 'a' + 'A');
        size.note = fmt::format("{} taken as {} {}iB", text,
                                number.substr(0, number.find_last_not_of(' ') + 1), letter);
    }
    return size;
}

Result<std::uint64_t> parse_count(std::string_view text) {
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    std::uint64_t value = 0;
    bool after_digit = false;
    for (const char letter : text) {
        if ((letter == '_' || letter == ',') && after_digit) {
            after_digit = false;
            continue;
        }
        if (!is_digit(letter))
            return bad(text, "is not a whole number", {});
        const auto digit = static_cast<std::uint64_t>(letter - '0');
        if (value > (kMost - digit) / 10)
            return bad(text, "is above the largest number, 2^64 - 1", {});
        value = value * 10 + digit;
        after_digit = true;
    }
    if (!after_digit)
        return bad(text, "is not a whole number", {});
    return value;
}

std::from_chars_result read_real(const char* begin, const char* end, double& value) {
#ifdef __cpp_lib_to_chars
    return std::from_chars(begin, end, value);
#else  // libc++ has it only for whole numbers; other texts that strtod accepts start differently
    constexpr std::ptrdiff_t kLongest = 400;
    const std::string copy(begin, begin + std::min(end - begin, kLongest));
    const std::size_t digit = copy.starts_with('-') ? 1 : 0;
    if (copy.size() == digit || (copy[digit] != '.' && (copy[digit] < '0' || copy[digit] > '9')) ||
        copy.find_first_of("xX") == digit + 1)
        return {begin, std::errc::invalid_argument};
    char* stop = nullptr;
    value = std::strtod(copy.c_str(), &stop);
    if (stop == copy.c_str())
        return {begin, std::errc::invalid_argument};
    return {begin + (stop - copy.c_str()),
            std::isfinite(value) ? std::errc() : std::errc::result_out_of_range};
#endif
}

Result<double> parse_real(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, status] = read_real(text.data(), end, value);
    if (status == std::errc::result_out_of_range)
        return bad(text, "is out of range", {});
    if (status != std::errc{} || stop != end || !std::isfinite(value))
        return bad(text, "is not a number", {});
    return value;
}

Result<Nanoseconds> parse_duration(std::string_view text) {
    constexpr double kLongest = 0x1p62;
    constexpr const char* kHint = "write a time such as 300ms, 1.5s or 2min";
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view unit = trimmed(text.substr(digits));
    double factor = unit == "ns" ? 1 : 0;
    for (const TimeUnit& each : kTimeUnits)
        factor = unit == each.name ? each.nanoseconds : factor;
    const Result<double> count = parse_real(text.substr(0, digits));
    if (!count || (factor == 0 && (!unit.empty() || *count != 0)))
        return bad(text, "is not a time", kHint);
    if (*count * factor >= kLongest)
        return bad(text, "is above the longest time, 2^62 ns", {});
    return static_cast<Nanoseconds>(*count * factor);
}

// The largest number is where sums end that 64 bits cannot hold.
std::string format_bytes(Bytes bytes) {
    if (bytes < 1024)
        return fmt::format("{} B", bytes);
    constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes == ~Bytes{0})  // a saturated sum
        return "16.0 EiB or more";
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; unit + 1 < kUnits.size() && value >= 1023.5; ++unit)
        value /= 1024;
    return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string format_duration(Nanoseconds duration) {
    const std::string_view sign = duration < 0 ? "-" : "";
    const auto bits = static_cast<std::uint64_t>(duration);
    const std::uint64_t magnitude = duration < 0 ? 0 - bits : bits;
    if (magnitude < 1000)
        return fmt::format("{}{} ns", sign, magnitude);
    const auto total = static_cast<double>(magnitude);
    std::size_t unit = 0;
    while (unit + 1 < kTimeUnits.size() && total / kTimeUnits[unit].nanoseconds >= 999.5)
        ++unit;
    const double value = total / kTimeUnits[unit].nanoseconds;
    return fmt::format("{}{} {}", sign, three_digits(value), kTimeUnits[unit].name);
}

std::string format_count(std::uint64_t count) {
    std::string text = fmt::format("{}", count);
    for (std::size_t position = text.size(); position > 3;) {
        position -= 3;
        text.insert(position, 1, ',');
    }
    return text;
}

std::string format_counted(std::uint64_t count, std::string_view one, std::string_view many) {
    const std::string number = format_count(count);
    if (count == 1)
        return fmt::format("{} {}", number, one);
    return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

std::string format_times(std::uint64_t count) {
    return count == 1 ? "once" : fmt::format("{} times", format_count(count));
}

std::string format_percent(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
    std::string_view best;
    std::size_t best_distance = limit + 1;
    for (const std::string_view candidate : candidates) {
        const std::size_t gap = candidate.size() > word.size() ? candidate.size() - word.size()
                                                               : word.size() - candidate.size();
        if (gap > limit)
            continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace tidemark
