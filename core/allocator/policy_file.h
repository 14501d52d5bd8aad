// A policy in a shared library of its own, so that an allocator is tried on traces without being
// part of Tidemark: `tidemark replay TRACE -p ./libmine.so:option=value`.
//
// One file is enough (examples/own_policy.cpp):
//
//     #include <tidemark/core/allocator/policy_file.h>
//     class Mine final : public tidemark::Allocator { ... };
//     TIDEMARK_POLICY_FILE({.name = "mine", .summary = "...", .source = "...", .options = kOptions,
//                           .make = make_mine})
//
// and with CMake `add_library(mine MODULE mine.cpp)`, `target_link_libraries(mine PRIVATE
// tidemark::core)`. The library is code that runs inside Tidemark: load only what you trust. Traces
// and other data never cause one to be loaded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/allocator/allocator.h"

namespace tidemark {

// Raised with each change of Allocator, Device, Options or PolicyInfo that a compiled policy would
// notice.
inline constexpr std::uint32_t kPolicyInterface = 3;

// What the library shows under the C name `tidemark_policy_file`. A plain table: for another
// interface or layout the policy is refused without a call of its functions. But loading a library
// runs its constructors first, whatever its table says, and those of the libraries that it needs.
struct PolicyFile {
    std::array<char, 16> mark = {"tidemark-policy"};
    std::uint32_t interface = kPolicyInterface;
    // What two compilers could lay out differently.
    std::array<std::uint32_t, 7> sizes = {sizeof(Allocator),  sizeof(Device),  sizeof(PolicyInfo),
                                          sizeof(OptionInfo), sizeof(Options), sizeof(Request),
                                          sizeof(Allocation)};
    const PolicyInfo* policy = nullptr;
};

// Loads the policy of the shared library `path` (with a '/', or in the working directory) and adds
// it to the catalogue under that very text, so that find_policy and parse_policy know it from then
// on. The same path again gives the same policy; a library stays loaded. Thread-safe. Errors:
// not_found; bad_input for what is no library, shows no policy, or was built for another interface.
Result<const PolicyInfo*> load_policy_file(std::string_view path);

// Adds a policy of the program itself under `info.name`, which must be letters, digits, '_' and '-'
// and no policy's name yet; find_policy and parse_policy know it from then on. `info`'s other texts
// must live as long as the program. Thread-safe. Errors: bad_option.
Result<const PolicyInfo*> add_policy(const PolicyInfo& info);

// The path in a policy's text that names a library ("./libmine.so:page=2MiB"), "" if it names none.
std::string_view policy_file_of(std::string_view text);

// The loaded or added one of that path or name; null if there is none. For find_policy.
const PolicyInfo* loaded_policy(std::string_view path);

}  // namespace tidemark

// In a policy's library, once: `...` is a PolicyInfo in braces.
#define TIDEMARK_POLICY_FILE(...)                                         \
    static const ::tidemark::PolicyInfo tidemark_policy_info __VA_ARGS__; \
    extern "C" __attribute__((visibility("default")))                     \
    const ::tidemark::PolicyFile tidemark_policy_file = {.policy = &tidemark_policy_info};
