// Files, whole.
#include "replay/cli/unit_folder.h"

#include <filesystem>

#include "backends/sim/description_file.h"
#include "replay/cli/written_files.h"

namespace tidemark {

Result<UnitFolder> UnitFolder::open(const std::string& path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed || !std::filesystem::is_directory(path, failed))
        return fail(ErrorCode::io, "cannot be made a folder", path, failed.message());
    return UnitFolder(path);
}

Result<std::optional<UnitResult>> UnitFolder::find(const std::string& unit) const {
    const std::string path = file_of(unit);
    std::error_code failed;
    if (!std::filesystem::exists(path, failed))
        return std::nullopt;
    constexpr DescriptionKind kUnitFile{"unit", "units", "no unit"};
    TM_ASSIGN(const std::string text, read_description(path, {}, kUnitFile));
    if (text.empty())
        return std::nullopt;  // a power cut
    TM_ASSIGN(UnitResult result, read_unit_line(text, unit).map_error([&](Error error) {
        error.where = path;
        return error;
    }));
    if (!result.has_checksum)  // an older version's units have other names
        return fail(ErrorCode::bad_input, "has no checksum, which each unit is written with", path,
                    "delete the file, and the unit is computed again");
    return result;
}

Result<UnitResult> UnitFolder::keep(const std::string& unit, const std::string& line) const {
    TM_TRY(write_whole({.path = file_of(unit), .kind = FileKind::sweep_lines}, line, false));
    return read_unit_line(line, unit);
}

}  // namespace tidemark
