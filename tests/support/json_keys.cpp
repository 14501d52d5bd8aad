// A walk through a value, and a regular expression over a page.
#include "tests/support/json_keys.h"

#include <fstream>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

namespace tidemark::support {
namespace {

using nlohmann::json;

void collect(const json& value, const std::string& way, const Keys& open, Keys& found) {
    if (value.is_array()) {
        for (const json& each : value)
            collect(each, way + "[]", open, found);
        return;
    }
    if (!value.is_object())
        return;
    for (const auto& [key, each] : value.items()) {
        const std::string name = open.contains(way) ? "*" : key;
        const std::string here = way.empty() ? name : way + "." + name;
        found.insert(here);
        collect(each, here, open, found);
    }
}

std::string page() {
    std::ifstream file(TIDEMARK_SOURCE_DIR "/docs/json.md");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Keys printed_keys(const std::string& text, const Keys& open) {
    Keys found;
    collect(json::parse(text), "", open, found);
    return found;
}

Keys documented_keys(const std::string& section) {
    const std::string text = page();
    const std::size_t begin = text.find("## `" + section + "`");
    if (begin == std::string::npos)
        return {};
    Keys keys;
    std::istringstream lines(text.substr(begin, text.find("\n## ", begin + 1) - begin));
    const std::regex name("`([^`]+)`");
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `"))
            continue;
        const std::string cell = line.substr(0, line.find('|', 1));
        for (std::sregex_iterator i(cell.begin(), cell.end(), name), stop; i != stop; ++i)
            keys.insert((*i)[1]);
    }
    return keys;
}

std::map<std::string, std::string> former_keys(const std::string& section) {
    std::map<std::string, std::string> keys;
    const std::string text = page();
    std::istringstream lines(text.substr(text.find("\n## Old names")));
    const std::regex row("\\| `([^`]+)` \\| `([^`]+)` \\| `([^`]+)` \\|");
    std::smatch cells;
    for (std::string line; std::getline(lines, line);)
        if (std::regex_match(line, cells, row) && cells[1] == section)
            keys[cells[2]] = cells[3];
    return keys;
}

}  // namespace tidemark::support
