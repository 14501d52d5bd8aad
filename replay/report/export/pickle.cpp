// The few opcodes that dicts, lists, tuples, strings and numbers need.
#include "replay/report/export/pickle.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace tidemark::report {
namespace {

class Pickler {
  public:
    std::string whole(const Json& value) {
        out_ = "\x80\x02";  // PROTO 2
        put(value, false);
        return std::move(out_) + ".";
    }

  private:
    void put(const Json& value, bool as_tuple);
    void put_dict(const Json& value);
    void put_list(const Json& value, bool as_tuple);
    void put_text(const std::string& text);
    void put_whole(std::uint64_t magnitude, bool negative);

    void little_endian(std::uint64_t number, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i)
            out_ += static_cast<char>(number >> 8U * i & 0xffU);
    }

    std::string out_;
    std::unordered_map<std::string, std::uint32_t> texts_;  // where the memo has them
};

// Recursion: nothing here is deeper than a report.
void Pickler::put(const Json& value, bool as_tuple) {
    if (value.is_object()) {
        put_dict(value);
    } else if (value.is_array()) {
        put_list(value, as_tuple);
    } else if (value.is_string()) {
        put_text(value.get_ref<const std::string&>());
    } else if (value.is_boolean()) {
        out_ += value.get<bool>() ? '\x88' : '\x89';
    } else if (value.is_number_unsigned()) {
        put_whole(value.get<std::uint64_t>(), false);
    } else if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        put_whole(number < 0 ? 0 - static_cast<std::uint64_t>(number)
                             : static_cast<std::uint64_t>(number),
                  number < 0);
    } else if (value.is_number_float()) {
        const auto bits = std::bit_cast<std::uint64_t>(value.get<double>());
        out_ += 'G';  // BINFLOAT, big-endian
        for (unsigned shift = 64; shift > 0; shift -= 8)
            out_ += static_cast<char>(bits >> (shift - 8) & 0xffU);
    } else {
        out_ += 'N';
    }
}

void Pickler::put_dict(const Json& value) {
    out_ += "}(";
    for (const auto& [key, part] : value.items()) {
        put_text(key);
        put(part, key.ends_with("_pool_id"));
    }
    out_ += 'u';
}

void Pickler::put_list(const Json& value, bool as_tuple) {
    out_ += as_tuple ? "(" : "](";
    for (const Json& part : value)
        put(part, false);
    out_ += as_tuple ? 't' : 'e';
}

void Pickler::put_text(const std::string& text) {
    const auto [entry, fresh] = texts_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) {
        out_ += 'X';  // BINUNICODE
        little_endian(text.size(), 4);
        out_ += text;
    }
    out_ += fresh ? 'r' : 'j';  // LONG_BINPUT, LONG_BINGET
    little_endian(entry->second, 4);
}

void Pickler::put_whole(std::uint64_t magnitude, bool negative) {
    if (!negative && magnitude <= 0x7fffffffU) {
        out_ += 'J';  // BININT
        little_endian(magnitude, 4);
        return;
    }
    out_ += "\x8a\x09";  // LONG1 of nine bytes: any sign
    little_endian(negative ? 0 - magnitude : magnitude, 8);
    out_ += negative ? '\xff' : '\0';
}

}  // namespace

std::string pickle_of(const Json& value) {
    return Pickler().whole(value);
}

}  // namespace tidemark::report
