// Settings: reads and writes their few lines.
#include "viz/shell/settings.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "core/base/file_descriptor.h"
#include "core/base/text.h"
#include "traces/io/output_file.h"

namespace tidemark::viz {
namespace {

constexpr std::array<std::string_view, 5> kColourNames{"tag", "stream", "stack", "size", "age"};
constexpr std::size_t kLargestSettings = std::size_t{64} << 10U;
constexpr std::size_t kLongestFolded = 200;  // bytes: what its field takes

tl::unexpected<Error> wrong(std::size_t line, std::string what) {
    return fail(ErrorCode::bad_input, fmt::format("line {}: {}", line, what), {},
                "fix or delete the file; --no-settings ignores it");
}

bool read_flag(std::string_view value, bool& flag) {
    flag = value == "true";
    return flag || value == "false";
}

// False: the value is not valid.
bool read_setting(ViewSettings& settings, std::string_view name, std::string_view value) {
    if (name == "theme") {
        settings.dark = value == "dark";
        return settings.dark || value == "light";
    }
    if (name == "colour-by") {
        const auto found = std::ranges::find(kColourNames, value);
        settings.colour_by = static_cast<ColourBy>(found - kColourNames.begin());
        return found != kColourNames.end();
    }
    if (name == "stacks.fold")
        return read_flag(value, settings.stacks.folds);
    if (name == "stacks.inverted")
        return read_flag(value, settings.stacks.inverted);
    settings.stacks.folded = value;
    return value.size() <= kLongestFolded;
}

bool is_known_setting(std::string_view name) {
    constexpr std::array<std::string_view, 5> kSettings{"theme", "colour-by", "stacks.fold",
                                                        "stacks.folded", "stacks.inverted"};
    return std::ranges::find(kSettings, name) != kSettings.end();
}

}  // namespace

bool operator==(const ViewSettings& a, const ViewSettings& b) {
    return settings_text(a) == settings_text(b);
}

ViewSettings settings_of(Shell& shell) {
    return {shell.state().dark, shell.selection().colour_by, shell.selection().stacks};
}

void apply(const ViewSettings& settings, Shell& shell) {
    shell.set_dark(settings.dark);
    shell.selection().colour_by = settings.colour_by;
    shell.selection().stacks = settings.stacks;
}

std::string settings_path() {
    const auto folder = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return value == nullptr || value[0] != '/' ? std::string() : std::string(value);
    };
    if (const std::string chosen = folder("XDG_CONFIG_HOME"); !chosen.empty())
        return chosen + "/tidemark/view.conf";
    const std::string home = folder("HOME");
    return home.empty() ? home : home + "/.config/tidemark/view.conf";
}

Result<ViewSettings> parse_settings(std::string_view text) {
    ViewSettings settings;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        line = trimmed(line);
        text.remove_prefix(std::min(text.size(), end + 1));
        if (line.empty() || line.front() == '#')
            continue;
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return wrong(number, "is not 'name = value'");
        const std::string_view name = trimmed(line.substr(0, equals));
        const std::string_view value = trimmed(line.substr(equals + 1));
        if (!is_known_setting(name))
            return wrong(number, fmt::format("there is no setting '{}'", name.substr(0, 40)));
        if (!read_setting(settings, name, value))
            return wrong(number, fmt::format("'{}' can't be '{}'", name, value.substr(0, 40)));
    }
    return settings;
}

std::string settings_text(const ViewSettings& settings) {
    return fmt::format(
        "# The settings of tidemark-view's window; it writes this file.\n"
        "theme = {}\ncolour-by = {}\nstacks.fold = {}\nstacks.folded = {}\nstacks.inverted = {}\n",
        settings.dark ? "dark" : "light",
        kColourNames[static_cast<std::size_t>(settings.colour_by)], settings.stacks.folds,
        settings.stacks.folded, settings.stacks.inverted);
}

Result<ViewSettings> read_settings(const std::string& path) {
    std::error_code failed;
    const auto size = std::filesystem::file_size(path, failed);
    if (failed == std::errc::no_such_file_or_directory)
        return ViewSettings{};
    std::ifstream in(path, std::ios::binary);
    if (failed || !in)
        return io_error("cannot be read", path, failed ? failed.value() : EACCES);
    if (size > kLargestSettings)
        return fail(ErrorCode::bad_input, "is too large for a settings file", path);
    std::ostringstream text;
    text << in.rdbuf();
    return parse_settings(text.str()).map_error([&](Error error) {
        error.where = path;
        return error;
    });
}

Result<void> keep_settings(const std::string& path, const ViewSettings& before,
                           const ViewSettings& now) {
    TM_ASSIGN(ViewSettings kept, read_settings(path));
    const auto take = [](auto& mine, const auto& was, const auto& is) {
        if (was != is)
            mine = is;
    };
    take(kept.dark, before.dark, now.dark);
    take(kept.colour_by, before.colour_by, now.colour_by);
    take(kept.stacks.folds, before.stacks.folds, now.stacks.folds);
    take(kept.stacks.folded, before.stacks.folded, now.stacks.folded);
    take(kept.stacks.inverted, before.stacks.inverted, now.stacks.inverted);
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    // The existing text has just been read as settings.
    TM_ASSIGN(const auto file,
              OutputFile::create({.path = path, .kind = FileKind::settings, .force = true}));
    TM_TRY(file->write(settings_text(kept)));
    return file->commit(false);
}

}  // namespace tidemark::viz
