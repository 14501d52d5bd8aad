// The two ways to read a line: by hand, and with nlohmann's event parser (which builds no tree, so
// that deep nesting costs nothing).
#include "traces/readers/jsonl_line.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace tidemark {
namespace {

using Type = JsonlValue::Type;

constexpr std::array<std::string_view, kJsonlKeys> kJsonlLineKeyNames{
    "t",        "op",     "id",          "bytes", "stream", "mode", "kernel",  "address",
    "align",    "device", "device_free", "event", "kind",   "name", "pending", "pool",
    "preamble", "stack",  "tag",         "task",  "tier",   "to"};

// A perfect hash over the names: the compiler checks the table below.
constexpr std::size_t kHashSlots = 128;

constexpr std::size_t hash_of(std::string_view name) {
    const auto letter = [name](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(name[i]));
    };
    return (letter(0) * 7 + letter(name.size() - 1) * 5 + name.size() * 11) % kHashSlots;
}

constexpr std::uint8_t kNoKey = 0xff;

constexpr auto make_hash_table() {
    std::array<std::uint8_t, kHashSlots> table{};
    table.fill(kNoKey);
    for (std::size_t i = 0; i < kJsonlKeys; ++i)
        table[hash_of(kJsonlLineKeyNames[i])] = static_cast<std::uint8_t>(i);
    return table;
}

constexpr auto kHashTable = make_hash_table();

constexpr bool is_perfect() {
    for (std::size_t i = 0; i < kJsonlKeys; ++i) {
        if (kHashTable[hash_of(kJsonlLineKeyNames[i])] != i)
            return false;
    }
    return true;
}

static_assert(is_perfect(), "two keys share a hash: change hash_of");

// The index of `name`, or kNoKey.
std::uint8_t find_key(std::string_view name) {
    if (name.empty())
        return kNoKey;
    const std::uint8_t index = kHashTable[hash_of(name)];
    return index != kNoKey && kJsonlLineKeyNames[index] == name ? index : kNoKey;
}

bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

const char* skip_spaces(const char* at, const char* end) {
    while (at != end && is_space(*at))
        ++at;
    return at;
}

// Steps over a plain ASCII string without escapes, of which `at` is the opening quote. Null if it
// is anything else.
const char* take_string(const char* at, const char* end, std::string_view& text) {
    if (at == end || *at != '"')
        return nullptr;
    const char* const begin = ++at;
    while (at != end && *at != '"' && *at != '\\' && *at >= ' ' && *at <= '~')
        ++at;
    if (at == end || *at != '"')
        return nullptr;
    text = {begin, static_cast<std::size_t>(at - begin)};
    return at + 1;
}

// Steps over a whole number of at most 19 digits, without leading zeros, with no fraction or
// exponent behind it. Null if it is anything else.
const char* take_number(const char* at, const char* end, std::uint64_t& number) {
    const char* const begin = at;
    number = 0;
    while (at != end && *at >= '0' && *at <= '9' && at - begin < 20)
        number = number * 10 + static_cast<std::uint64_t>(*at++ - '0');
    const auto digits = at - begin;
    if (digits == 0 || digits > 19 || (digits > 1 && *begin == '0'))
        return nullptr;
    if (at != end && (*at == '.' || *at == 'e' || *at == 'E'))
        return nullptr;
    return at;
}

const char* take_word(const char* at, const char* end, std::string_view word) {
    return std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(word)
               ? at + word.size()
               : nullptr;
}

// Steps over a list of plain strings.
const char* take_list(const char* at, const char* end, std::vector<std::string_view>& list) {
    list.clear();
    at = skip_spaces(at + 1, end);
    if (at != end && *at == ']')
        return at + 1;
    for (;;) {
        at = take_string(skip_spaces(at, end), end, list.emplace_back());
        if (at == nullptr)
            return nullptr;
        at = skip_spaces(at, end);
        if (at == end || (*at != ',' && *at != ']'))
            return nullptr;
        if (*at++ == ']')
            return at;
    }
}

}  // namespace

std::string_view to_text(JsonlKey key) {
    return kJsonlLineKeyNames[static_cast<std::size_t>(key)];
}

// Receives the parts of a line from nlohmann's parser. Its names are that library's.
class JsonlLine::Handler {
  public:
    explicit Handler(JsonlLine& line) : line_(line) {}

    bool null() { return put(Type::absent); }

    bool boolean(bool value) { return put(Type::boolean, value ? 1 : 0); }

    bool number_integer(std::int64_t /*negative*/) { return put(Type::other); }

    bool number_unsigned(std::uint64_t value) { return put(Type::number, value); }

    bool number_float(double /*value*/, const std::string& /*text*/) { return put(Type::other); }

    bool binary(nlohmann::json::binary_t& /*value*/) { return put(Type::other); }

    bool string(std::string& value) {
        if (depth_ == 1 && key_ != kNoKey) {
            line_.strings_.push_back(std::move(value));
            return put(Type::text, 0, line_.strings_.back());
        }
        if (depth_ == 2 && in_stack_) {
            line_.strings_.push_back(std::move(value));
            line_.stack_.push_back(line_.strings_.back());
        }
        return true;
    }

    bool key(std::string& name) {
        if (depth_ == 1)
            key_ = find_key(name);
        return true;
    }

    bool start_object(std::size_t /*count*/) {
        if (depth_ == 1)
            put(Type::other);
        spoil_stack();
        ++depth_;
        return true;
    }

    bool start_array(std::size_t /*count*/) {
        if (depth_ == 0)
            return false;
        spoil_stack();
        if (depth_ == 1) {
            in_stack_ = key_ == static_cast<std::uint8_t>(JsonlKey::stack);
            put(in_stack_ ? Type::list : Type::other);
            if (in_stack_)
                line_.stack_.clear();
        }
        ++depth_;
        return true;
    }

    bool end_object() {
        --depth_;
        return true;
    }

    bool end_array() {
        --depth_;
        in_stack_ = in_stack_ && depth_ > 1;
        return true;
    }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::json::exception& /*error*/) {
        line_.error_column_ = position;
        return false;
    }

  private:
    // A list with anything but strings in it is not a stack.
    void spoil_stack() {
        if (depth_ == 2 && in_stack_)
            line_.values_[static_cast<std::size_t>(JsonlKey::stack)].type = Type::other;
    }

    bool put(Type type, std::uint64_t number = 0, std::string_view text = {}) {
        if (depth_ == 0)
            return false;  // a line must be an object
        spoil_stack();
        if (depth_ == 1 && key_ != kNoKey)
            line_.values_[key_] = {type, number, text};
        return true;
    }

    JsonlLine& line_;
    std::size_t depth_ = 0;
    std::uint8_t key_ = kNoKey;
    bool in_stack_ = false;
};

void JsonlLine::clear() {
    values_.fill({});
    stack_.clear();
    strings_.clear();
    error_column_ = 1;
}

bool JsonlLine::parse(std::string_view line, bool careful) {
    clear();
    if (!careful && parse_flat(line.data(), line.data() + line.size())) [[likely]]
        return true;
    clear();
    return parse_any(line);
}

bool JsonlLine::parse_any(std::string_view line) {
    Handler handler(*this);
    return nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
}

// False if the line is not of the plain kind: it may still be JSON.
bool JsonlLine::parse_flat(const char* at, const char* end) {
    at = skip_spaces(at, end);
    if (at == end || *at != '{')
        return false;
    for (char mark = *at++; mark != '}';) {
        std::string_view name;
        at = take_string(skip_spaces(at, end), end, name);
        if (at == nullptr)
            return false;
        at = skip_spaces(at, end);
        if (at == end || *at++ != ':')
            return false;
        at = skip_spaces(at, end);
        if (at == end)
            return false;

        JsonlValue value;
        const std::uint8_t key = find_key(name);
        if (*at == '"') {
            value.type = Type::text;
            at = take_string(at, end, value.text);
        } else if (*at == 't' || *at == 'f') {
            value.type = Type::boolean;
            value.number = *at == 't' ? 1 : 0;
            at = take_word(at, end, *at == 't' ? "true" : "false");
        } else if (*at == '[' && key == static_cast<std::uint8_t>(JsonlKey::stack)) {
            value.type = Type::list;
            at = take_list(at, end, stack_);
        } else {
            value.type = Type::number;
            at = take_number(at, end, value.number);
        }
        if (at == nullptr)
            return false;
        if (key != kNoKey)
            values_[key] = value;

        at = skip_spaces(at, end);
        if (at == end || (*at != ',' && *at != '}'))
            return false;
        mark = *at++;
    }
    return skip_spaces(at, end) == end;
}

}  // namespace tidemark
