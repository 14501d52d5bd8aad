// Folders, patterns and names of trace files.
#include "replay/cli_support/trace_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <glob.h>

#include "core/base/text.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
    return path.filename().string().starts_with('.');
}

Result<std::vector<std::string>> recordings_in(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, error);
    for (const fs::recursive_directory_iterator end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        if (is_hidden(entry->path())) {
            if (entry->is_directory(ignored))
                entry.disable_recursion_pending();
        } else if (entry->is_regular_file(ignored) && is_trace_file(entry->path().string())) {
            found.push_back(entry->path().string());
        }
    }
    if (error)
        return fail(ErrorCode::io, error.message(), folder);
    if (found.empty())
        return fail(ErrorCode::not_found, "there is no recording in this folder", folder,
                    "it has no file in a format that Tidemark reads");
    std::ranges::sort(found);
    return found;
}

// The file, or each of its recordings by its own name.
void add_recordings(const std::string& path, std::vector<std::string>& all) {
    const std::size_t count = count_recordings(path);
    if (count == 1)
        all.push_back(path);
    for (std::size_t part = 0; part < count && count > 1; ++part)
        all.push_back(fmt::format("{}#{}", path, part));
}

bool is_pattern(const std::string& path) {
    std::error_code ignored;
    return path != "-" && !path.starts_with("generate:") &&
           path.find_first_of("*?[") != std::string::npos && !fs::exists(path, ignored);
}

// The last `count` parts of a path.
std::string tail_of(const fs::path& path, std::size_t count) {
    std::vector<fs::path> parts(path.begin(), path.end());
    fs::path tail;
    for (std::size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i)
        tail /= parts[i];
    return tail.string();
}

}  // namespace

std::vector<std::string> matches_of_pattern(const std::string& path) {
    if (!is_pattern(path))
        return {path};
    glob_t matches{};
    const std::unique_ptr<glob_t, decltype(&globfree)> owner(&matches, &globfree);
    if (::glob(path.c_str(), 0, nullptr, &matches) != 0)  // sorted
        return {};
    return {matches.gl_pathv, matches.gl_pathv + matches.gl_pathc};
}

Result<std::vector<std::string>> expand_traces(std::span<const std::string> paths) {
    std::vector<std::string> all;
    for (const std::string& path : paths) {
        const std::vector<std::string> found = matches_of_pattern(path);
        if (found.empty())
            return fail(ErrorCode::not_found, "no file matches", path);
        for (const std::string& each : found) {
            std::error_code ignored;
            if (each == "-" || !fs::is_directory(each, ignored)) {
                add_recordings(each, all);
                continue;
            }
            TM_ASSIGN(const std::vector<std::string> inside, recordings_in(each));
            for (const std::string& file : inside)
                add_recordings(file, all);
        }
    }
    return all;
}

Result<std::string> expand_trace(const std::string& path) {
    TM_ASSIGN(std::vector<std::string> found, expand_traces({&path, 1}));
    if (found.size() == 1)
        return std::move(found.front());
    return fail(ErrorCode::bad_option,
                fmt::format("matches {}, and this command takes one",
                            format_counted(found.size(), "recording")),
                path, fmt::format("the first is {}", found.front()));
}

std::string trace_name(const std::string& path) {
    if (path == "-")
        return "standard input";
    if (path.starts_with("generate:"))
        return path;
    return fs::path(path).filename().string();
}

std::vector<std::string> trace_names(std::span<const std::string> paths) {
    std::vector<std::string> names;
    std::vector<fs::path> whole;
    for (const std::string& path : paths) {
        names.push_back(trace_name(path));
        whole.push_back(fs::path(path).lexically_normal());
    }
    for (std::size_t parts = 2;; ++parts) {
        std::map<std::string, std::vector<std::size_t>> alike;
        for (std::size_t i = 0; i < names.size(); ++i)
            alike[names[i]].push_back(i);
        bool longer = false;
        for (const auto& [name, same_named] : alike) {
            const bool differ = std::ranges::any_of(
                same_named, [&](std::size_t i) { return whole[i] != whole[same_named.front()]; });
            for (const std::size_t i : same_named) {
                if (!differ)
                    break;
                std::string tail = tail_of(whole[i], parts);
                longer = longer || tail != names[i];
                names[i] = std::move(tail);
            }
        }
        if (!longer)
            return names;
    }
}

}  // namespace tidemark
