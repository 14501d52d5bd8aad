// From arguments to files.
#include "replay/cli_support/read_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/allocator/policy_file.h"
#include "core/allocator/spec.h"
#include "replay/cli_support/trace_files.h"
#include "traces/live/wire.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

// The recording or unit of a sweep anywhere in the folder that is `target`, by whatever name.
bool is_read_in(const std::string& folder, const FileIdentity& target) {
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, error);
    for (const fs::recursive_directory_iterator end; !error && entry != end;
         entry.increment(error)) {
        const std::string path = entry->path().string();
        if (file_identity(path) == target && (is_unit_file(path) || is_trace_file(path)))
            return true;
    }
    return false;
}

// "run-000001.tml" -> all of run-NNNNNN.tml that are there.
std::vector<std::string> files_of_recording(const std::string& path) {
    std::vector<std::string> files;
    const std::optional<std::string> stem = live::stem_of_segment(path);
    std::error_code error;
    if (!stem)
        return files;
    const fs::path folder = fs::path(path).parent_path();
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
         !error && entry != end; entry.increment(error)) {
        const std::string other = (folder / entry->path().filename()).string();
        if (live::stem_of_segment(other) == stem)
            files.push_back(other);
    }
    return files;
}

void add(std::vector<FileIdentity>& files, const std::string& path) {
    if (const auto identity = file_identity(path))
        files.push_back(*identity);
}

}  // namespace

bool is_unit_file(const std::string& path) {
    const fs::path name(path);
    const std::string stem = name.stem().string();
    return name.extension() == ".json" && stem.size() == 16 &&
           stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> files_of_policy(const std::string& text) {
    if (const std::string_view library = policy_file_of(text); !library.empty())
        return {std::string(library)};
    std::vector<std::string> files;
    const Result<PolicySpec> spec = parse_policy(text);
    if (!spec)
        return files;
    for (const OptionInfo& option : spec->policy->options)
        if (option.type == OptionType::file)
            files.emplace_back(spec->options.text(option.name));
    return files;
}

std::vector<FileIdentity> identities_read(std::span<const std::string> inputs,
                                          const std::string& target) {
    constexpr std::string_view kSimulated = "sim:";
    const std::optional<FileIdentity> there = file_identity(target);
    std::vector<FileIdentity> files;
    for (const std::string& input : inputs) {
        if (input.starts_with(kSimulated))
            add(files, input.substr(kSimulated.size()));
        for (const std::string& path : matches_of_pattern(input)) {
            std::error_code ignored;
            if (fs::is_directory(path, ignored)) {
                if (there && is_read_in(path, *there))
                    files.push_back(*there);
                continue;
            }
            add(files, path);
            for (const std::string& part : files_of_recording(path))
                add(files, part);
        }
    }
    return files;
}

std::string name_of_output(const std::string& path) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (path == "-" || (fs::exists(status) && !fs::is_regular_file(status)))
        return {};
    if (const auto there = file_identity(path))
        return std::to_string(there->device) + ":" + std::to_string(there->inode);
    const fs::path folder = fs::path(path).parent_path();
    return (fs::weakly_canonical(folder.empty() ? "." : folder, ignored) /
            fs::path(path).filename())
        .string();
}

}  // namespace tidemark
