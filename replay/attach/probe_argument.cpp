// Registers by all their names, then the three forms.
#include "replay/attach/probe_argument.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace tidemark::attach {
namespace {

struct NamedRegister {
    Register value;
    std::array<std::string_view, 5> names;  // of 8, 4, 2 and 1 bytes; of the second byte
};

constexpr std::array kRegisters{
    NamedRegister{Register::rax, {"rax", "eax", "ax", "al", "ah"}},
    NamedRegister{Register::rbx, {"rbx", "ebx", "bx", "bl", "bh"}},
    NamedRegister{Register::rcx, {"rcx", "ecx", "cx", "cl", "ch"}},
    NamedRegister{Register::rdx, {"rdx", "edx", "dx", "dl", "dh"}},
    NamedRegister{Register::rsi, {"rsi", "esi", "si", "sil", ""}},
    NamedRegister{Register::rdi, {"rdi", "edi", "di", "dil", ""}},
    NamedRegister{Register::rbp, {"rbp", "ebp", "bp", "bpl", ""}},
    NamedRegister{Register::rsp, {"rsp", "esp", "sp", "spl", ""}},
    NamedRegister{Register::r8, {"r8", "r8d", "r8w", "r8b", ""}},
    NamedRegister{Register::r9, {"r9", "r9d", "r9w", "r9b", ""}},
    NamedRegister{Register::r10, {"r10", "r10d", "r10w", "r10b", ""}},
    NamedRegister{Register::r11, {"r11", "r11d", "r11w", "r11b", ""}},
    NamedRegister{Register::r12, {"r12", "r12d", "r12w", "r12b", ""}},
    NamedRegister{Register::r13, {"r13", "r13d", "r13w", "r13b", ""}},
    NamedRegister{Register::r14, {"r14", "r14d", "r14w", "r14b", ""}},
    NamedRegister{Register::r15, {"r15", "r15d", "r15w", "r15b", ""}},
};

constexpr std::size_t kHighByte = 4;

struct FoundRegister {
    Register value;
    std::size_t name;  // which of its names
};

// Without its percent sign.
std::optional<FoundRegister> find_register(std::string_view name) {
    for (const NamedRegister& each : kRegisters) {
        const auto found = std::ranges::find(each.names, name);
        if (!name.empty() && found != each.names.end())
            return FoundRegister{each.value, static_cast<std::size_t>(found - each.names.begin())};
    }
    return std::nullopt;
}

// "%rbp", whole.
std::optional<Register> whole_register(std::string_view text) {
    if (!text.starts_with('%'))
        return std::nullopt;
    const auto found = find_register(text.substr(1));
    return found && found->name == 0 ? std::optional(found->value) : std::nullopt;
}

// Decimal, or hexadecimal after 0x; all of the text.
std::optional<std::int64_t> number_of(std::string_view text) {
    const bool negative = text.starts_with('-');
    text.remove_prefix(negative ? 1 : 0);
    const int base = text.starts_with("0x") ? 16 : 10;
    text.remove_prefix(base == 16 ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return static_cast<std::int64_t>(negative ? 0 - value : value);
}

// Cuts off and returns what is before the separator, or everything.
std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

// "-56(%rbp)", "8(%rax,%rbx,4)", "(,%rcx,8)".
bool parse_memory(std::string_view text, ProbeArgument& argument) {
    const std::string_view number = take_until(text, '(');
    if (!text.ends_with(')'))
        return false;
    text.remove_suffix(1);
    const auto displacement = number.empty() ? 0 : number_of(number);
    const std::string_view base = take_until(text, ',');
    const std::string_view index = take_until(text, ',');
    const auto scale = text.empty() ? 1 : number_of(text);
    if (!displacement || *displacement < std::numeric_limits<std::int32_t>::min() ||
        *displacement > std::numeric_limits<std::int32_t>::max() || !scale ||
        (*scale != 1 && *scale != 2 && *scale != 4 && *scale != 8))
        return false;
    argument.kind = ProbeArgument::Kind::in_memory;
    argument.number = *displacement;
    argument.scale = static_cast<std::uint8_t>(*scale);
    argument.base = whole_register(base);
    argument.index = whole_register(index);
    return (base.empty() || argument.base) && (index.empty() || argument.index) &&
           (argument.base || argument.index);
}

bool parse_register(std::string_view name, ProbeArgument& argument) {
    const auto found = find_register(name);
    if (!found)
        return false;
    argument.kind = ProbeArgument::Kind::in_register;
    argument.base = found->value;
    argument.high_byte = found->name == kHighByte;
    constexpr std::array<std::uint8_t, 5> kWidths{8, 4, 2, 1, 1};
    return argument.bytes <= kWidths[found->name];
}

bool parse_constant(std::string_view text, ProbeArgument& argument) {
    const auto number = number_of(text);
    argument.number = number.value_or(0);
    return number.has_value();
}

bool parse_argument(std::string_view text, ProbeArgument& argument) {
    const auto size = number_of(take_until(text, '@'));
    if (!size || text.empty())
        return false;
    const auto number = static_cast<std::uint64_t>(*size);
    const std::uint64_t bytes = *size < 0 ? 0 - number : number;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return false;
    argument.bytes = static_cast<std::uint8_t>(bytes);
    argument.is_signed = *size < 0;
    if (text.front() == '%' && text.find('(') == std::string_view::npos)
        return parse_register(text.substr(1), argument);
    return text.front() == '$' ? parse_constant(text.substr(1), argument)
                               : parse_memory(text, argument);
}

}  // namespace

Result<std::vector<ProbeArgument>> parse_probe_arguments(std::string_view text) {
    std::vector<ProbeArgument> arguments;
    while (!text.empty()) {
        const std::string_view word = take_until(text, ' ');
        if (word.empty())
            continue;
        ProbeArgument argument;
        if (!parse_argument(word, argument))
            return fail(ErrorCode::unsupported,
                        fmt::format("an argument of a probe cannot be read: {}", word));
        arguments.push_back(argument);
    }
    return arguments;
}

}  // namespace tidemark::attach
