// Lines of JSON, and the function that Python registers.
#include "backends/imagined/journal.h"

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "backends/imagined/api.h"
#include "backends/imagined/settings.h"

namespace tidemark::imagined {
namespace {

std::atomic<Witness> witness{nullptr};

void write_line(const nlohmann::json& line) {
    static std::mutex guard;
    if (settings().journal.empty())
        return;
    const std::scoped_lock lock(guard);
    std::ofstream(settings().journal, std::ios::app)
        << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace

void note_unknown(std::string_view name, bool refused) {
    write_line({{"unknown", name}, {"refused", refused}});
    if (refused)
        ask_witness("refused", std::string(name).c_str(), nullptr, 0, false);
}

void note_process() {
    write_line({{"process", getpid()}});
}

bool ask_witness(const char* kind, const char* what, void* bytes, std::size_t size, bool known) {
    const Witness one = witness.load();
    return one != nullptr && one(kind, what, bytes, size, known) != 0;
}

}  // namespace tidemark::imagined

// Python's function, or null: called from any thread that reads the device's memory.
IMAGINED(void, set_witness)(tidemark::imagined::Witness one) {
    tidemark::imagined::witness = one;
}
