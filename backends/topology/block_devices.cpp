// One folder per device; the target of its link shows what it is.
#include "backends/topology/block_devices.h"

#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "backends/numa/sys_files.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;  // volumes on volumes

// Of file systems in memory, by statfs(2).
constexpr auto kTmpfs = 0x01021994;
constexpr auto kRamfs = 0x858458f6;

BlockKind kind_of(const std::string& name, const std::string& path) {
    if (name.starts_with("md"))
        return BlockKind::raid;
    if (path.find("/nvme") != std::string::npos)
        return BlockKind::nvme;
    return path.find("/ata") != std::string::npos ? BlockKind::sata : BlockKind::other;
}

std::optional<BlockDevice> read_device(const std::string& name, const std::string& root) {
    const std::string folder = root + "/sys/block/" + name;
    if (read_sys_number(folder + "/size").value_or(0) <= 0)
        return std::nullopt;
    std::error_code none;
    const std::string path = fs::canonical(folder, none).string();
    return BlockDevice{.name = name,
                       .kind = kind_of(name, path),
                       .rotating = read_sys_number(folder + "/queue/rotational") == 1};
}

// The device that `name` is, or is a partition of, or is mapped to.
std::optional<BlockDevice> resolve(std::string name, const std::string& root) {
    for (int depth = 0; depth < kDeepest; ++depth) {
        if (!name.starts_with("dm-"))
            return read_device(name, root);
        const std::vector<std::string> below =
            list_sys_folder(root + "/sys/block/" + name + "/slaves");
        if (below.empty())
            return std::nullopt;
        std::error_code none;
        name = below.front();
        if (!fs::exists(root + "/sys/block/" + name, none)) {  // a partition
            const fs::path path = fs::canonical(root + "/sys/class/block/" + name, none);
            name = path.parent_path().filename().string();
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<BlockDevice> block_device_of(const std::string& folder, const std::string& root) {
    struct stat facts {};

    if (stat(folder.c_str(), &facts) != 0)
        return std::nullopt;
    const std::string entry =
        fmt::format("{}/sys/dev/block/{}:{}", root, major(facts.st_dev), minor(facts.st_dev));
    std::error_code none;
    const fs::path path = fs::canonical(entry, none);
    if (none)
        return std::nullopt;
    const bool partition = fs::exists(path / "partition", none);
    const fs::path whole = partition ? path.parent_path() : path;
    return resolve(whole.filename().string(), root);
}

bool is_in_memory(const std::string& folder) {
    struct statfs facts {};

    return statfs(folder.c_str(), &facts) == 0 &&
           (facts.f_type == kTmpfs || facts.f_type == kRamfs);
}

}  // namespace tidemark
