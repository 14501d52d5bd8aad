// Small text files: a key, a blank and a value in each line.
#include "replay/inject/process_report.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace tidemark::inject {
namespace {

namespace fs = std::filesystem;

// Whether it created the file.
bool create(const std::string& path) {
    return FileDescriptor(
               ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR))
        .valid();
}

// One process may be several programs, each of which replaces the one before (exec).
std::string first_free(const std::string& stem, const std::string& ending) {
    constexpr int kMost = 1000;
    std::string path;
    for (int number = 1; number < kMost; ++number) {
        path = number == 1 ? stem + ending : fmt::format("{}-{}{}", stem, number, ending);
        if (create(path))
            break;
    }
    return path;
}

}  // namespace

ReportFile::ReportFile(const std::string& folder) : folder_(folder) {
    if (!folder_.empty())
        path_ = first_free(fmt::format("{}/{}", folder_, ::getpid()), ".report");
}

void ReportFile::write(std::string_view key, std::string_view value) const {
    if (path_.empty())
        return;
    const FileDescriptor file(
        ::open(path_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const std::string line = fmt::format("{} {}\n", key, value);
    if (file.valid())
        static_cast<void>(!::write(file.get(), line.data(), line.size()));
}

std::string ReportFile::claim_recording(const std::string& output) const {
    if (folder_.empty() || output.empty() || create(folder_ + "/first"))
        return output;
    const fs::path path(output);
    const std::string stem =
        (path.parent_path() / fmt::format("{}-{}", path.stem().string(), ::getpid())).string();
    return first_free(stem, path.extension().string());
}

std::vector<ProcessReport> read_reports(const std::string& folder) {
    std::vector<ProcessReport> reports;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        ProcessReport report;
        if (entry.path().extension() != ".report" ||
            std::from_chars(name.data(), name.data() + name.size(), report.process).ec !=
                std::errc())
            continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            const std::string key = line.substr(0, line.find(' '));
            std::string* const target = key == "problem"     ? &report.problem
                                        : key == "recording" ? &report.recording
                                        : key == "cupti"     ? &report.cupti
                                        : key == "untimed"   ? &report.untimed
                                                             : nullptr;
            if (target != nullptr && key.size() < line.size())
                *target = line.substr(key.size() + 1);
        }
        reports.push_back(std::move(report));
    }
    std::ranges::sort(reports, {}, &ProcessReport::process);
    return reports;
}

}  // namespace tidemark::inject
