// A policy in its own shared library, so that you can try an allocator on traces without making it
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
// tidemark::core)`. The library is code that runs inside Tidemark: load only libraries that you
// trust. Traces and other data never cause one to be loaded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/allocator/allocator.h"

namespace tidemark {

// Raised with each change of Allocator, Device, Options or PolicyInfo that affects a compiled
// policy.
inline constexpr std::uint32_t kPolicyInterface = 3;

// What the library exports under the C name `tidemark_policy_file`. It is a plain table, so a
// policy for another interface or layout is refused without calling any of its functions. But
// loading a library runs its constructors, and those of the libraries that it needs, whatever its
// table says.
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
// it to the catalogue under exactly that text, so that find_policy and parse_policy know it from
// then on. The same path again gives the same policy; a library stays loaded. Thread-safe. Errors:
// not_found; bad_input for a file that is not a library, exports no policy, or was built for
// another interface.
Result<const PolicyInfo*> load_policy_file(std::string_view path);

// Adds one of the program's own policies under `info.name`, which must consist of letters, digits,
// '_' and '-' and be new; find_policy and parse_policy know it from then on. `info`'s other texts
// must stay valid as long as the program runs. Thread-safe. Errors: bad_option.
Result<const PolicyInfo*> add_policy(const PolicyInfo& info);

// The path in a policy's text that names a library ("./libmine.so:page=2MiB"), "" if it names none.
std::string_view policy_file_of(std::string_view text);

// The loaded or added policy of that path or name; null if there is none. For find_policy.
const PolicyInfo* loaded_policy(std::string_view path);

}  // namespace tidemark

// In a policy's library, once: `...` is a PolicyInfo in braces.
#define TIDEMARK_POLICY_FILE(...)                                         \
    static const ::tidemark::PolicyInfo tidemark_policy_info __VA_ARGS__; \
    extern "C" __attribute__((visibility("default")))                     \
    const ::tidemark::PolicyFile tidemark_policy_file = {.policy = &tidemark_policy_info};
