// What each thread launched last, before the table that all share.
#include "replay/inject/kernels.h"

#include <array>
#include <string_view>

#include "replay/inject/native_stack.h"

namespace tidemark::inject {
namespace {

constexpr std::size_t kLongestName = 120;

struct Launched {
    cuda::CUfunction function = nullptr;
    const Kernel* kernel = nullptr;
};

constexpr unsigned kLaunchedBits = 6;
constinit thread_local std::array<Launched, 1U << kLaunchedBits> launched_last{};

// Without the parentheses at its end, and what is in them.
std::string_view without_parameters(std::string_view name) {
    if (!name.ends_with(')'))
        return name;
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 0;) {
        depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
        if (depth == 0)
            return at == 0 ? name : name.substr(0, at);
    }
    return name;
}

}  // namespace

std::string short_kernel_name(const char* symbol) {
    const std::string whole = demangled(symbol);
    std::string_view name = without_parameters(whole);
    constexpr std::string_view kReturns = "void ";  // as all kernels do
    if (name.starts_with(kReturns))
        name.remove_prefix(kReturns.size());
    if (name.size() <= kLongestName)
        return std::string(name);
    return std::string(name.substr(0, kLongestName - 3)) + "...";
}

const Kernel& KernelTable::find(cuda::CUfunction function, const char* symbol) {
    const auto hash = reinterpret_cast<std::uint64_t>(function) * 0x9e3779b97f4a7c15U;
    Launched& launched = launched_last[hash >> (64U - kLaunchedBits)];
    if (launched.function != function || launched.kernel->checked.load(std::memory_order_relaxed) !=
                                             unloads_.load(std::memory_order_acquire))
        launched = {function, &look_up(function, symbol)};
    return *launched.kernel;
}

const Kernel& KernelTable::look_up(cuda::CUfunction function, const char* symbol) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t unloads = unloads_.load();
    Kernel*& kernel = by_function_[function];
    if (kernel == nullptr || kernel->checked.load() != unloads) {
        auto known = std::make_unique<Kernel>();
        const std::string name = symbol == nullptr ? driver_.name(function) : symbol;
        known->name = short_kernel_name(name.empty() ? "(kernel without a name)" : name.c_str());
        known->known = driver_.parameters(function, known->parameters);
        if (kernel == nullptr || known->name != kernel->name ||
            known->parameters != kernel->parameters) {
            kernel = known.get();
            kernels_.push_back(std::move(known));
        }
        kernel->checked.store(unloads);
    }
    return *kernel;
}

}  // namespace tidemark::inject
