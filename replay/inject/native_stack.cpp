// Unwinding by the compiler's library; names by dladdr.
#include "replay/inject/native_stack.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unwind.h>

namespace tidemark::inject {

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 && text != nullptr ? text.get() : name;
}

namespace {

struct Addresses {
    std::array<std::uintptr_t, 64> at{};
    std::size_t count = 0;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* target) {
    auto& addresses = *static_cast<Addresses*>(target);
    int is_exact = 0;
    const std::uintptr_t next = _Unwind_GetIPInfo(context, &is_exact);
    if (next == 0 || addresses.count == addresses.at.size())
        return _URC_END_OF_STACK;
    addresses.at[addresses.count++] = is_exact != 0 ? next : next - 1;
    return _URC_NO_REASON;
}

struct ResolvedFrame {
    std::string function;
    std::string file;
};

ResolvedFrame resolve(std::uintptr_t address) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr)
        return {fmt::format("{:#x}", address), ""};
    const auto offset = address - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    return {info.dli_sname != nullptr ? demangled(info.dli_sname) : fmt::format("+{:#x}", offset),
            info.dli_fname};
}

// Whether the frame is on the way from the program's call to here.
bool is_inner(const ResolvedFrame& frame, const std::string& own) {
    const std::string_view name = std::string_view(frame.file).substr(frame.file.rfind('/') + 1);
    return frame.file == own || name.starts_with("libcupti.so") || name.starts_with("libcuda.so");
}

std::uint32_t define(live::Publisher& publisher, std::span<const std::uintptr_t> addresses) {
    static const std::string own = resolve(reinterpret_cast<std::uintptr_t>(&name_stack)).file;
    std::vector<ResolvedFrame> resolved;
    for (const std::uintptr_t address : addresses) {
        ResolvedFrame frame = resolve(address);
        if (!resolved.empty() || !is_inner(frame, own))
            resolved.push_back(std::move(frame));
    }
    std::vector<live::LiveFrame> frames;
    for (const ResolvedFrame& frame : resolved)
        frames.push_back({frame.function, frame.file, 0});
    return publisher.stack(frames);
}

}  // namespace

std::uint32_t name_stack(live::Publisher& publisher) {
    static std::mutex mutex;
    static auto& names = *new std::unordered_map<std::string, std::uint32_t>;
    Addresses addresses;
    _Unwind_Backtrace(take_frame, &addresses);
    const std::span<const std::uintptr_t> known(addresses.at.data(), addresses.count);
    const std::string key(reinterpret_cast<const char*>(known.data()), known.size_bytes());
    const std::lock_guard lock(mutex);
    if (const auto found = names.find(key); found != names.end())
        return found->second;
    const std::uint32_t name = define(publisher, known);
    if (name != 0)
        names.emplace(key, name);
    return name;
}

}  // namespace tidemark::inject
