// Reads whole files, line by line.
#include "viz/model/blocks/source_lines.h"

#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"

namespace tidemark::viz {
namespace {

constexpr std::uintmax_t kLargestSource = 4U << 20U;  // bytes
constexpr std::size_t kMostFiles = 256;               // that are kept
constexpr std::size_t kLongestLine = 120;             // letters

}  // namespace

std::string SourceLines::line(std::string_view path, std::uint32_t number) {
    if (path.empty() || path.front() != '/' || number == 0)
        return {};
    std::string key(path);
    auto found = files_.find(key);
    if (found == files_.end()) {
        if (files_.size() >= kMostFiles)
            files_.clear();
        std::vector<std::string> lines = read(key);
        found = files_.emplace(std::move(key), std::move(lines)).first;
    }
    return number <= found->second.size() ? found->second[number - 1] : std::string();
}

std::vector<std::string> SourceLines::read(const std::string& path) {
    std::error_code ignored;
    std::vector<std::string> lines;
    if (!std::filesystem::is_regular_file(path, ignored) ||
        std::filesystem::file_size(path, ignored) > kLargestSource || ignored)
        return lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        lines.push_back(one_line(trimmed(line), kLongestLine));
    return lines;
}

}  // namespace tidemark::viz
