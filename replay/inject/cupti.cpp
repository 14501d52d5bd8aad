// Where CUPTI may be, and what it answers.
#include "replay/inject/cupti.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

namespace tidemark::inject {
namespace {

namespace fs = std::filesystem;

// The files that are loaded in this process.
std::vector<std::string> loaded_files() {
    std::vector<std::string> files;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* target) {
            if (info->dlpi_name != nullptr && *info->dlpi_name == '/')
                static_cast<std::vector<std::string>*>(target)->emplace_back(info->dlpi_name);
            return 0;
        },
        &files);
    return files;
}

// The folders of Python packages that contain loaded files.
std::vector<std::string> package_folders(const std::vector<std::string>& files) {
    std::vector<std::string> folders;
    for (const std::string& file : files) {
        for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
            const std::size_t at = file.find(name);
            if (at == std::string::npos)
                continue;
            std::string folder = file.substr(0, at + name.size());
            if (std::ranges::find(folders, folder) == folders.end())
                folders.push_back(std::move(folder));
        }
    }
    return folders;
}

std::vector<std::string> toolkits() {
    std::vector<std::string> folders;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const char* const folder = std::getenv(variable); folder != nullptr && *folder != '\0')
            folders.emplace_back(folder);
    }
    std::vector<std::string> installed;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/usr/local", error)) {
        if (entry.path().filename().string().starts_with("cuda"))
            installed.push_back(entry.path().string());
    }
    std::ranges::sort(installed);
    folders.insert(folders.end(), installed.begin(), installed.end());
    return folders;
}

std::vector<std::string> candidates(int driver_version) {
    if (const char* const chosen = std::getenv("TIDEMARK_CUPTI");
        chosen != nullptr && *chosen != '\0')
        return {chosen};
    const std::vector<std::string> files = loaded_files();
    std::vector<std::string> paths;
    std::ranges::copy_if(files, std::back_inserter(paths), [](const std::string& file) {
        return fs::path(file).filename().string().starts_with("libcupti.so");
    });
    std::array<std::string, 2> names{"libcupti.so.13", "libcupti.so.12"};
    if (driver_version < 13000)
        std::swap(names[0], names[1]);
    const std::vector<std::string> packages = package_folders(files);
    for (const std::string& name : names) {
        for (const std::string& folder : packages) {
            paths.push_back(folder + "nvidia/cu13/lib/" + name);
            paths.push_back(folder + "nvidia/cuda_cupti/lib/" + name);
        }
    }
    paths.insert(paths.end(), names.begin(), names.end());
    for (const std::string& folder : toolkits()) {
        for (const std::string& name : names) {
            paths.push_back(folder + "/extras/CUPTI/lib64/" + name);
            paths.push_back(folder + "/lib64/" + name);
        }
    }
    return paths;
}

}  // namespace

Result<Cupti> Cupti::open(int driver_version) {
    std::string why = "none was found";
    for (const std::string& path : candidates(driver_version)) {
        if (path.front() == '/' && ::access(path.c_str(), R_OK) != 0 && errno == ENOENT)
            continue;
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* const text = dlerror();
            if (path.front() == '/' && text != nullptr)
                why = text;
            continue;
        }
        Cupti cupti;
        cupti.library_ = library;
        cupti.path_ = path;
        if (cupti.find("cuptiSubscribe", cupti.subscribe_) &&
            cupti.find("cuptiUnsubscribe", cupti.unsubscribe_) &&
            cupti.find("cuptiEnableCallback", cupti.enable_) &&
            cupti.find("cuptiGetDeviceId", cupti.device_) &&
            cupti.find("cuptiGetResultString", cupti.text_)) {
            // Where the loader found what had no folder.
            if (Dl_info info{}; dladdr(reinterpret_cast<void*>(cupti.subscribe_), &info) != 0)
                cupti.path_ = info.dli_fname;
            int (*version)(std::uint32_t*) = nullptr;
            if (cupti.find("cuptiGetVersion", version))
                version(&cupti.version_);
            return cupti;
        }
        why = fmt::format("{} lacks some of its functions", path);
    }
    return fail(ErrorCode::not_found, fmt::format("no CUPTI ({})", why), "",
                "set TIDEMARK_CUPTI to the path of libcupti.so; it comes with the CUDA toolkit "
                "(extras/CUPTI/lib64) and with PyTorch");
}

void* Cupti::symbol(const char* name) const {
    return dlsym(library_, name);
}

tl::unexpected<Error> Cupti::refusal(int code, std::string what) const {
    if (code == kCuptiMultipleSubscribers)
        return fail(
            ErrorCode::unsupported, "another tool uses CUPTI in this process (error 39)", "",
            "CUPTI serves one tool at a time: stop the profiler, compute-sanitizer or debugger");
    const char* text = nullptr;
    text_(code, &text);
    return fail(ErrorCode::driver, fmt::format("CUPTI: {}: error {} ({})", what, code,
                                               text == nullptr ? "unknown" : text));
}

Result<void> Cupti::enable(int domain, std::uint32_t id) {
    if (const int code = enable_(1, subscriber_, domain, id); code != kCuptiSuccess)
        return refusal(code, fmt::format("call {} of domain {}", id, domain));
    return {};
}

Result<void> Cupti::subscribe(CUpti_CallbackFunc function, bool launches) {
    if (const int code = subscribe_(&subscriber_, function, nullptr); code != kCuptiSuccess)
        return refusal(code, "subscribing");
    TM_TRY(enable(kResourceDomain, kContextCreated));
    TM_TRY(enable(kResourceDomain, kContextDestroyStarting));
    // Those of newer drivers than this CUPTI knows are left out.
#define TIDEMARK_RECORDED_CALL(name, number, ...) static_cast<void>(enable(kDriverDomain, number));
#include "replay/inject/recorded_calls.inc"
#undef TIDEMARK_RECORDED_CALL
    if (!launches)
        return {};
    TM_TRY(enable(kResourceDomain, kModuleUnloadStarting));
#define TIDEMARK_LAUNCHED_CALL(name, number, ...) static_cast<void>(enable(kDriverDomain, number));
#include "replay/inject/launched_calls.inc"
#undef TIDEMARK_LAUNCHED_CALL
    return {};
}

void Cupti::unsubscribe() {
    if (subscriber_ != nullptr)
        unsubscribe_(std::exchange(subscriber_, nullptr));
}

int Cupti::device_of(cuda::CUcontext context) const {
    std::uint32_t device = 0;
    return device_(context, &device) == kCuptiSuccess ? static_cast<int>(device) : -1;
}

}  // namespace tidemark::inject
