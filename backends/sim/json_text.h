// json_text: how our files of costs and machines are written.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tidemark {

// `text` between quotes; bytes that are not UTF-8 are replaced. O(length).
inline std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "name": value, where `value` is JSON already.
inline std::string json_member(std::string_view name, const std::string& value) {
    return fmt::format("{}: {}", json_text(name), value);
}

}  // namespace tidemark
