// Small files and the few forms that they have.
#include "backends/numa/sys_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace tidemark {
namespace {

constexpr std::size_t kSysFilesLargestFile = 1_MiB;
constexpr std::size_t kLongestList = 65536;

// The number at the front of `text`, which is removed.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool take(std::string_view& text, char letter) {
    if (text.empty() || text.front() != letter)
        return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::optional<std::string> read_sys_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    std::string text(kSysFilesLargestFile, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad())
        return std::nullopt;
    text.resize(static_cast<std::size_t>(file.gcount()));
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
}

std::optional<std::int64_t> read_sys_number(const std::string& path) {
    const std::optional<std::string> text = read_sys_text(path);
    if (!text)
        return std::nullopt;
    const bool hexadecimal = text->starts_with("0x");
    const char* begin = text->data() + (hexadecimal ? 2 : 0);
    const char* end = text->data() + text->size();
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number, hexadecimal ? 16 : 10);
    if (error != std::errc() || stop != end)
        return std::nullopt;
    return number;
}

std::vector<std::string> list_sys_folder(const std::string& path) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(path, none))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<unsigned> parse_number_list(std::string_view text) {
    std::vector<unsigned> numbers;
    do {
        const auto first = take_number(text);
        const auto last = first && take(text, '-') ? take_number(text) : first;
        if (!first || !last || *last - *first >= kLongestList - numbers.size())
            break;
        for (std::uint64_t number = *first; number <= *last; ++number)
            numbers.push_back(static_cast<unsigned>(number));
    } while (take(text, ','));
    return numbers;
}

std::optional<Bytes> find_meminfo(std::string_view text, std::string_view key) {
    const std::string name = std::string(key) + ":";
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
        if (at != 0 && text[at - 1] != '\n' && text[at - 1] != ' ')
            continue;  // the end of a longer name
        std::string_view rest = text.substr(at + name.size());
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        if (const auto kibibytes = take_number(rest))
            return *kibibytes * 1_KiB;
    }
    return std::nullopt;
}

}  // namespace tidemark
