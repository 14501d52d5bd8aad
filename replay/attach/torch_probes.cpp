// /proc/PID/maps names the library, and /proc/PID/map_files or /proc/PID/root leads to it, in
// whatever container the process sees it.
#include "replay/attach/torch_probes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace tidemark::attach {
namespace {

constexpr std::string_view kLibrary = "libc10_cuda.so";
constexpr std::string_view kReplaced = " (deleted)";

tl::unexpected<Error> refuse(std::string what, std::string hint) {
    return fail(ErrorCode::unsupported, std::move(what), "--attach", std::move(hint));
}

struct Mapping {
    std::string range;  // "7f00-7f80"
    std::string path;
};

// None: no such library is mapped. Errors: unsupported: no permission to examine the process.
Result<Mapping> find_mapping(int process) {
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    std::string line;
    if (!maps.is_open() || (!std::getline(maps, line) && errno == EACCES))
        return refuse(fmt::format("no permission to examine process {}", process),
                      "run this as the process's user, or as root with CAP_SYS_PTRACE");
    Mapping found;
    do {
        std::istringstream fields(line);
        std::string range;
        std::string skipped;
        std::string path;
        fields >> range >> skipped >> skipped >> skipped >> skipped >> std::ws;
        std::getline(fields, path);
        if (path.find('/') != std::string::npos &&
            path.substr(path.rfind('/') + 1).starts_with(kLibrary)) {
            found = {range, path};
            break;
        }
    } while (std::getline(maps, line));
    return found;
}

// A path by which this process opens what the other one has mapped.
Result<std::string> reachable(int process, const Mapping& mapping) {
    const std::string mapped = fmt::format("/proc/{}/map_files/{}", process, mapping.range);
    if (::access(mapped.c_str(), R_OK) == 0)
        return mapped;
    if (mapping.path.ends_with(kReplaced))
        return refuse(fmt::format("{} has been replaced since the process loaded it", kLibrary),
                      "restart the program");
    return fmt::format("/proc/{}/root{}", process, mapping.path);
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
        return io_error("cannot be read", path);
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(begin, begin + text.size());
}

}  // namespace

Result<TorchProbes> find_torch_probes(int process) {
    if (process <= 0 || (::kill(process, 0) != 0 && errno == ESRCH))
        return fail(ErrorCode::not_found, fmt::format("there is no process {}", process),
                    "--attach", "`pgrep -a python` lists the Python processes");
    TM_ASSIGN(const Mapping mapping, find_mapping(process));
    if (mapping.path.empty())
        return refuse(
            fmt::format("process {} has not loaded {}", process, kLibrary),
            "it does not use PyTorch, uses PyTorch for the CPU, or hasn't imported torch yet; any "
            "CUDA program can be recorded from its start: tidemark record -- PROGRAM");
    TorchProbes found;
    TM_ASSIGN(found.file, reachable(process, mapping));
    TM_ASSIGN(const std::vector<std::byte> bytes, read_file(found.file));
    TM_ASSIGN(std::vector<Probe> probes, read_probes(bytes, mapping.path));
    bool mallocs = false;
    bool frees = false;
    for (Probe& probe : probes) {
        if (probe.provider != "pytorch" || (probe.name != "malloc" && probe.name != "free"))
            continue;
        (probe.name == "malloc" ? mallocs : frees) = true;
        found.probes.push_back(std::move(probe));
    }
    if (!mallocs || !frees)
        return refuse(fmt::format("{} has no probes in its allocator", mapping.path),
                      "this PyTorch is older, or was built without them; python -m tidemark.record "
                      "records from inside the process");
    std::ranges::stable_partition(found.probes,
                                  [](const Probe& probe) { return probe.name == "free"; });
    return found;
}

std::string variable_of(int process, std::string_view name) {
    std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
    for (std::string entry; std::getline(file, entry, '\0');) {
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return entry.substr(name.size() + 1);
    }
    return {};
}

}  // namespace tidemark::attach
