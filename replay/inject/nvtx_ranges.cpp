// NVTX's functions: they have no argument for a tool's data, so their state belongs to the process.
#include "replay/inject/nvtx_ranges.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pthread.h>

#include "replay/inject/kept_errno.h"

namespace tidemark::inject {
namespace {

using nvtx::Attributes;
using nvtx::Core;
using nvtx::Core2;

std::atomic<MemoryEvents* (*)()> the_target = nullptr;

MemoryEvents* target() {
    auto* const answer = the_target.load(std::memory_order_acquire);
    return answer == nullptr ? nullptr : answer();
}

struct OpenRange {
    const void* domain = nullptr;
    std::string name;  // "": it is left out
    bool reported = false;

    void report() {
        MemoryEvents* const events = target();
        if (!reported && !name.empty() && events != nullptr)
            reported = events->range(name, false);
    }

    void end() {
        MemoryEvents* const events = target();
        if (reported && events != nullptr)
            events->range(name, true);
    }
};

using Ranges = std::vector<OpenRange>;
constinit thread_local Ranges* ranges_here = nullptr;

// Those of this thread. By a key: functions that run when a thread ends may still use NVTX, and
// would find a thread_local object gone.
Ranges& pushed() {
    static const std::optional<pthread_key_t> key = [] {
        const auto let_go = [](void*) { delete std::exchange(ranges_here, nullptr); };
        pthread_key_t made = 0;
        return ::pthread_key_create(&made, let_go) == 0 ? std::optional(made) : std::nullopt;
    }();
    if (ranges_here == nullptr) {
        ranges_here = new Ranges;
        if (key)
            ::pthread_setspecific(*key, ranges_here);
    }
    return *ranges_here;
}

// Started ranges by id, and texts that stay; never destroyed.
struct Shared {
    std::mutex mutex;
    std::uint64_t last_id = 0;
    std::unordered_map<std::uint64_t, OpenRange> started;
    std::set<std::string, std::less<>> texts;  // of domains, and registered ones
};

Shared& shared() {
    static Shared& the = *new Shared;
    return the;
}

const std::string* keep(std::string_view text) {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    return &*all.texts.emplace(text).first;
}

// The program's errno stays; without memory for it, a range is left out.
template <class Answer, class Work>
Answer guarded(Answer otherwise, Work work) noexcept {
    const KeptErrno error;
    Answer answer = otherwise;
    try {
        answer = work();
    } catch (...) {
        // The program has more urgent needs.
    }
    return answer;
}

std::string_view text_of(const char* text) {
    return text == nullptr ? std::string_view() : text;
}

std::string_view text_of(const Attributes* attributes) {
    if (attributes == nullptr || attributes->message == nullptr)
        return {};
    if (attributes->message_type == nvtx::kText)
        return static_cast<const char*>(attributes->message);
    if (attributes->message_type == nvtx::kRegistered)
        return *static_cast<const std::string*>(attributes->message);
    return {};
}

std::string name_in(const void* domain, std::string_view text) {
    if (domain == nullptr || text.empty() || static_cast<const std::string*>(domain)->empty())
        return std::string(text);
    return *static_cast<const std::string*>(domain) + ": " + std::string(text);
}

// The answer of these two is how deep the range is nested.
int push_range(const void* domain, std::string_view text) {
    return guarded(0, [&] {
        Ranges& open = pushed();
        int depth = 0;
        for (OpenRange& each : open) {
            each.report();
            depth += each.domain == domain ? 1 : 0;
        }
        open.push_back({domain, name_in(domain, text)});
        open.back().report();
        return depth;
    });
}

int pop_range(const void* domain) {
    return guarded(-1, [&] {
        Ranges& open = pushed();
        int depth = -1;
        std::size_t innermost = 0;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (open[i].domain != domain)
                continue;
            innermost = i;
            ++depth;
        }
        if (depth >= 0) {
            open[innermost].end();
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(innermost));
        }
        return depth;
    });
}

std::uint64_t start_range(const void* domain, std::string_view text) {
    return guarded(std::uint64_t{0}, [&] {
        OpenRange range{domain, name_in(domain, text)};
        range.report();
        Shared& all = shared();
        const std::lock_guard lock(all.mutex);
        all.started.emplace(++all.last_id, std::move(range));
        return all.last_id;
    });
}

void end_range(std::uint64_t id) {
    guarded(0, [&] {
        Shared& all = shared();
        const std::lock_guard lock(all.mutex);
        if (auto found = all.started.extract(id); !found.empty())
            found.mapped().end();
        return 0;
    });
}

void mark(const void* domain, std::string_view text) {
    guarded(0, [&] {
        if (MemoryEvents* const events = target(); events != nullptr && !text.empty())
            events->mark(name_in(domain, text));
        return 0;
    });
}

// Where functions of a module are to be put.
class Table {
  public:
    Table(const nvtx::CallbackTables& tables, int module) {
        if (tables.table_of(module, &table_, &size_) == 0)
            size_ = 0;
    }

    bool empty() const { return size_ == 0; }

    template <class Id, class Function>
    void put(Id id, Function* function) const {
        const auto index = static_cast<unsigned>(id);
        if (index < size_ && table_[index] != nullptr)
            *table_[index] = reinterpret_cast<nvtx::Function>(function);
    }

  private:
    nvtx::Function** table_ = nullptr;
    unsigned size_ = 0;
};

void fill_core(const Table& core) {
    core.put(
        Core::mark_ex, +[](const Attributes* a) { mark(nullptr, text_of(a)); });
    core.put(
        Core::mark, +[](const char* text) { mark(nullptr, text_of(text)); });
    core.put(
        Core::start_ex, +[](const Attributes* a) { return start_range(nullptr, text_of(a)); });
    core.put(
        Core::start, +[](const char* text) { return start_range(nullptr, text_of(text)); });
    core.put(
        Core::start_wide, +[](const wchar_t*) { return start_range(nullptr, {}); });
    core.put(
        Core::end, +[](std::uint64_t id) { end_range(id); });
    core.put(
        Core::push_ex, +[](const Attributes* a) { return push_range(nullptr, text_of(a)); });
    core.put(
        Core::push, +[](const char* text) { return push_range(nullptr, text_of(text)); });
    core.put(
        Core::push_wide, +[](const wchar_t*) { return push_range(nullptr, {}); });
    core.put(
        Core::pop, +[] { return pop_range(nullptr); });
}

// A domain is its name's text, and so is a registered string.
void fill_domains(const Table& core2) {
    using Kept = const std::string*;
    const auto keep_text = +[](const char* text) -> Kept {
        return guarded(Kept(), [&] { return keep(text_of(text)); });
    };
    core2.put(
        Core2::mark_ex, +[](Kept domain, const Attributes* a) { mark(domain, text_of(a)); });
    core2.put(
        Core2::start_ex,
        +[](Kept domain, const Attributes* a) { return start_range(domain, text_of(a)); });
    core2.put(
        Core2::end, +[](Kept, std::uint64_t id) { end_range(id); });
    core2.put(
        Core2::push_ex,
        +[](Kept domain, const Attributes* a) { return push_range(domain, text_of(a)); });
    core2.put(
        Core2::pop, +[](Kept domain) { return pop_range(domain); });
    core2.put(
        Core2::register_string, +[](Kept, const char* text) -> Kept {
            return guarded(Kept(), [&] { return keep(text_of(text)); });
        });
    core2.put(
        Core2::register_wide,
        +[](Kept, const wchar_t*) -> Kept { return guarded(Kept(), [&] { return keep({}); }); });
    core2.put(Core2::create, keep_text);
    core2.put(
        Core2::create_wide,
        +[](const wchar_t*) -> Kept { return guarded(Kept(), [&] { return keep({}); }); });
}

}  // namespace

bool follow_nvtx(nvtx::GetExportTable tables, MemoryEvents* (*target)()) {
    const auto* const callbacks =
        static_cast<const nvtx::CallbackTables*>(tables(nvtx::kCallbacks));
    if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks)
        return false;
    the_target.store(target, std::memory_order_release);
    const Table core(*callbacks, nvtx::kCore);
    const Table core2(*callbacks, nvtx::kCore2);
    fill_core(core);
    fill_domains(core2);
    return !core.empty() || !core2.empty();
}

}  // namespace tidemark::inject
