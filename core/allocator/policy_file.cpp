// Loading policies from shared libraries.
#include "core/allocator/policy_file.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::string_view kEnding = ".so";

struct LoadedPolicy {
    std::string path;
    PolicyInfo info;
};

struct LoadedPolicies {
    std::mutex lock;
    std::list<LoadedPolicy> policies;  // PolicySpecs point to them

    const PolicyInfo* find(std::string_view path) const {
        for (const LoadedPolicy& loaded : policies) {
            if (loaded.path == path)
                return &loaded.info;
        }
        return nullptr;
    }

    const PolicyInfo* add(std::string_view path, const PolicyInfo& info) {
        LoadedPolicy& added = policies.emplace_back();
        added.path = path;
        added.info = info;
        added.info.name = added.path;
        return &added.info;
    }
};

LoadedPolicies& loaded_policies() {
    static LoadedPolicies loaded;
    return loaded;
}

tl::unexpected<Error> refuse(std::string what, std::string_view path, std::string hint) {
    return fail(ErrorCode::bad_input, std::move(what), std::string(path), std::move(hint));
}

// What dlopen reports, without the leading path, which the error has anyway.
std::string last_fault(std::string_view path) {
    const char* const text = dlerror();
    std::string_view fault = text == nullptr ? "" : text;
    if (fault.starts_with(path) && fault.substr(path.size()).starts_with(": "))
        fault.remove_prefix(path.size() + 2);
    return std::string(fault);
}

Result<const PolicyFile*> table_in(void* library, std::string_view path) {
    constexpr std::string_view kHow =
        "its source ends with TIDEMARK_POLICY_FILE({...}); see core/allocator/policy_file.h";
    const auto* file = static_cast<const PolicyFile*>(dlsym(library, "tidemark_policy_file"));
    if (file == nullptr || file->mark != PolicyFile{}.mark)
        return refuse("a shared library without a policy for Tidemark", path, std::string(kHow));
    if (file->interface != kPolicyInterface)
        return refuse(fmt::format("the policy was built for interface {}, but this is interface {}",
                                  file->interface, kPolicyInterface),
                      path, "build it with the headers of this version");
    if (file->sizes != PolicyFile{}.sizes)
        return refuse("the policy's compiler lays out Tidemark's types differently", path,
                      "build it with the headers of this version and the compiler that built it");
    if (file->policy == nullptr || file->policy->make == nullptr)
        return refuse("the policy has no function that makes an allocator", path,
                      "set PolicyInfo::make");
    return file;
}

}  // namespace

std::string_view policy_file_of(std::string_view text) {
    for (std::size_t at = text.find(kEnding); at != text.npos; at = text.find(kEnding, at + 1)) {
        const std::size_t end = at + kEnding.size();
        if (end == text.size() || text[end] == ':')
            return text.substr(0, end);
    }
    return {};
}

const PolicyInfo* loaded_policy(std::string_view path) {
    LoadedPolicies& loaded = loaded_policies();
    const std::lock_guard guard(loaded.lock);
    return loaded.find(path);
}

Result<const PolicyInfo*> load_policy_file(std::string_view path) {
    LoadedPolicies& loaded = loaded_policies();
    const std::lock_guard guard(loaded.lock);
    if (const PolicyInfo* known = loaded.find(path))
        return known;
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(path, unreadable))
        return fail(ErrorCode::not_found, "there is no such file", std::string(path),
                    "a policy's shared library, as in -p ./libmine.so");
    // dlopen would search the system's library folders for a bare name.
    const std::string location =
        path.find('/') == path.npos ? fmt::format("./{}", path) : std::string(path);
    void* const library = dlopen(location.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const std::string fault = last_fault(location);
        const bool unlinked = fault.find("undefined symbol") != fault.npos;
        return refuse(fmt::format("cannot be loaded: {}", fault), path,
                      unlinked ? "link it with what it calls; Tidemark's own functions are in "
                                 "tidemark::core (docs/add-a-policy.md)"
                               : "it must be a shared library for this computer");
    }
    const Result<const PolicyFile*> file = table_in(library, path);
    if (!file) {
        dlclose(library);
        return tl::make_unexpected(file.error());
    }
    return loaded.add(path, *(*file)->policy);
}

Result<const PolicyInfo*> add_policy(const PolicyInfo& info) {
    const auto allowed = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
    };
    if (info.name.empty() || !std::all_of(info.name.begin(), info.name.end(), allowed))
        return fail(ErrorCode::bad_option, fmt::format("'{}' cannot be a policy's name", info.name),
                    "policy", "letters, digits, '_' and '-'");
    const bool shipped = std::ranges::any_of(
        all_policies(), [&](const PolicyInfo& each) { return each.name == info.name; });
    LoadedPolicies& loaded = loaded_policies();
    const std::lock_guard guard(loaded.lock);
    if (shipped || loaded.find(info.name) != nullptr)
        return fail(ErrorCode::bad_option, fmt::format("there is a policy '{}' already", info.name),
                    "policy");
    return loaded.add(info.name, info);
}

}  // namespace tidemark
