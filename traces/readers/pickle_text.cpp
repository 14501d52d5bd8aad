// Opcodes that are rare in a snapshot: the text forms of protocol 0, which hand-made and very old
// files use.
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/readers/pickle.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark {
namespace {

void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&text](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0U | code >> 6U);
        put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
        put(0xe0U | code >> 12U);
        put(0x80U | (code >> 6U & 0x3fU));
        put(0x80U | (code & 0x3fU));
    } else {
        put(0xf0U | (code >> 18U & 7U));
        put(0x80U | (code >> 12U & 0x3fU));
        put(0x80U | (code >> 6U & 0x3fU));
        put(0x80U | (code & 0x3fU));
    }
}

// Python's raw-unicode-escape: Latin-1, and \uXXXX or \UXXXXXXXX for the rest.
std::string from_raw_unicode_escape(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::size_t digits = line.substr(i, 2) == "\\u"   ? 4
                                   : line.substr(i, 2) == "\\U" ? 8
                                                                : 0;
        std::uint32_t code = static_cast<unsigned char>(line[i]);
        if (digits != 0 && i + 2 + digits <= line.size()) {
            const char* begin = line.data() + i + 2;
            std::uint32_t escaped = 0;
            if (std::from_chars(begin, begin + digits, escaped, 16).ptr == begin + digits) {
                code = escaped;
                i += 1 + digits;
            }
        }
        append_utf8(text, code);
    }
    return text;
}

}  // namespace

bool Unpickler::execute_text(unsigned opcode) {
    std::string_view line;
    switch (opcode) {
        case opcode::kInt:
        case opcode::kLong:
            return input_.take_line(line) && push_decimal(line);
        case opcode::kFloat:
            return input_.take_line(line) && push_real_line(line);
        case opcode::kUnicode:
            return input_.take_line(line) && push(objects_.string(from_raw_unicode_escape(line)));
        case opcode::kString:
            return input_.take_line(line) && push_quoted(line);
        case opcode::kPut:
        case opcode::kGet:
            return input_.take_line(line) && get_or_put(line, opcode == opcode::kPut);
        default:
            return execute_object(opcode);
    }
}

// 'text' or "text" as Python 2 writes them; an escape stays as it is, since none of our names has
// one.
bool Unpickler::push_quoted(std::string_view line) {
    const bool quoted = line.size() >= 2 && (line.front() == '\'' || line.front() == '"') &&
                        line.front() == line.back();
    if (!quoted)
        return input_.fail_here("a line that should be a text in quotes isn't one",
                                "the file is damaged");
    return push(objects_.string(line.substr(1, line.size() - 2)));
}

// "17", "-3", "12L"; "00" and "01" are False and True.
bool Unpickler::push_decimal(std::string_view line) {
    if (line == "00" || line == "01")
        return push({Value::Kind::boolean, line == "01" ? 1U : 0U});
    if (!line.empty() && line.back() == 'L')
        line.remove_suffix(1);
    const bool negative = !line.empty() && line.front() == '-';
    line.remove_prefix(negative ? 1 : 0);
    std::uint64_t magnitude = 0;
    const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), magnitude);
    if (end != line.data() + line.size() || line.empty())
        return input_.fail_here("a line that should be a whole number isn't one",
                                "the file is damaged");
    if (code != std::errc())
        magnitude = ~std::uint64_t{0};
    if (magnitude < std::uint64_t{1} << 59U) {
        const auto number = static_cast<std::int64_t>(magnitude);
        return push(Value::integer(negative ? -number : number));
    }
    return push(objects_.wide({magnitude, negative}));
}

bool Unpickler::push_real_line(std::string_view line) {
    double number = 0;
    const auto [end, code] = read_real(line.data(), line.data() + line.size(), number);
    if (code != std::errc() || end != line.data() + line.size())
        return input_.fail_here("a line that should be a number isn't one", "the file is damaged");
    return push(objects_.real(number));
}

bool Unpickler::get_or_put(std::string_view line, bool is_put) {
    std::uint64_t index = 0;
    const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), index);
    if (code != std::errc() || end != line.data() + line.size())
        return input_.fail_here("a line that should be a memo index isn't one",
                                "the file is damaged");
    return is_put ? put(index) : get(index);
}

}  // namespace tidemark
