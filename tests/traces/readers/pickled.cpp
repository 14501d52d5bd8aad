// Opcodes by hand.
#include "tests/traces/readers/pickled.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace tidemark::support {

namespace pickled {

std::string string(std::string_view text) {
    std::string bytes = "X";
    for (unsigned i = 0; i < 4; ++i)
        bytes.push_back(static_cast<char>(text.size() >> (8 * i)));
    return bytes.append(text);
}

std::string number(std::int64_t value) {
    std::string bytes = "\x8a\x08";
    for (unsigned i = 0; i < 8; ++i)
        bytes.push_back(static_cast<char>(value >> (8 * i)));
    return bytes;
}

std::string list(const std::vector<std::string>& items) {
    std::string bytes = "](";
    for (const std::string& item : items)
        bytes += item;
    return bytes + "e";
}

std::string dict(const Items& items) {
    std::string bytes = "}(";
    for (const auto& [key, value] : items)
        bytes += string(key) + value;
    return bytes + "u";
}

std::string file(const std::string& object) {
    return "\x80\x04" + object + ".";
}

}  // namespace pickled

void PlainDicts::set_items(std::uint32_t dict, std::span<const Value> pairs,
                           std::uint64_t /*shape*/) {
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        dicts_[dict].emplace_back(pairs[i], pairs[i + 1]);
}

std::string PlainDicts::text(const PickleObjects& objects, Value value, int depth) const {
    if (depth > 8)
        return "...";
    std::string text;
    switch (value.kind()) {
        case Value::Kind::none:
            return "None";
        case Value::Kind::boolean:
            return value.payload() != 0 ? "True" : "False";
        case Value::Kind::integer:
            return fmt::format("{}", value.number());
        case Value::Kind::wide:
            return fmt::format("{}{}", objects.wides[value.index()].negative ? "-" : "",
                               objects.wides[value.index()].magnitude);
        case Value::Kind::real:
            return fmt::format("{}", objects.reals[value.index()]);
        case Value::Kind::string:
            return fmt::format("'{}'", objects.text(value));
        case Value::Kind::pair:
            return fmt::format("[{}, {}]", value.payload() >> 14U, value.payload() & 0x3fffU);
        case Value::Kind::list:
            objects.lists.for_each(value.index(), [&](Value item) {
                text += (text.empty() ? "" : ", ") + this->text(objects, item, depth + 1);
            });
            return "[" + text + "]";
        case Value::Kind::dict:
            if (const auto found = dicts_.find(value.index()); found != dicts_.end()) {
                for (const auto& [key, item] : found->second)
                    text += (text.empty() ? "" : ", ") + this->text(objects, key, depth + 1) +
                            ": " + this->text(objects, item, depth + 1);
            }
            return "{" + text + "}";
        default:
            return "?";
    }
}

Value PlainDicts::item(const PickleObjects& objects, Value dict, std::string_view key) const {
    Value found;
    if (const auto items = dicts_.find(dict.index()); items != dicts_.end()) {
        for (const auto& [name, value] : items->second) {
            if (objects.text(name) == key)
                found = value;
        }
    }
    return found;
}

std::string unpickled(std::string_view bytes) {
    const auto source = open_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), "test");
    REQUIRE(source);
    PickleObjects objects;
    PlainDicts dicts;
    const Result<Value> value = Unpickler(**source, objects, dicts).run();
    return value ? dicts.text(objects, *value) : "error: " + to_text(value.error());
}

}  // namespace tidemark::support
