// Files in a folder of the system's for temporary ones.
#include "tests/support/fake_root.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace tidemark::support {

void FakeRoot::put(std::string_view path, std::string_view content) {
    const std::filesystem::path whole = within(path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << content << '\n';
}

void FakeRoot::put_program(std::string_view path, std::string_view content) {
    put(path, content);
    std::filesystem::permissions(within(path), std::filesystem::perms::owner_all);
}

void FakeRoot::link(std::string_view path, std::string_view target) {
    namespace fs = std::filesystem;
    const fs::path from = within(path);
    const fs::path folder = from.parent_path();
    const fs::path whole = within(target);
    fs::create_directories(folder);
    fs::create_directories(whole);
    fs::create_directory_symlink(fs::relative(whole, folder), from);
}

void FakeRoot::put_node(unsigned id, unsigned mebibytes, std::string_view cpus,
                        std::string_view distances) {
    const std::string folder = fmt::format("/sys/devices/system/node/node{}", id);
    std::string memory;
    for (const auto& [key, share] : {std::pair{"MemTotal", 4U}, std::pair{"MemFree", 1U},
                                     std::pair{"Active", 2U}, std::pair{"Inactive(file)", 1U}})
        memory += fmt::format("Node {} {}: {} kB\n", id, key, mebibytes * 1024 / 4 * share);
    put(folder + "/meminfo", memory);
    put(folder + "/cpulist", cpus);
    put(folder + "/distance", distances);
}

}  // namespace tidemark::support
