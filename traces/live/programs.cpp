// Looks into the runtime folders.
#include "traces/live/programs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>

#include "traces/io/file_descriptor.h"
#include "traces/live/runtime_folder.h"

namespace tidemark::live {
namespace {

template <class T>
T word(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// The older of the two: the newer one may just be being written.
ClockPair whole_clock(std::span<const std::byte> page) {
    std::array<ClockPair, 2> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::size_t at = offsetof(Counters, clocks) + i * sizeof(SharedClock);
        pairs[i] = {word<std::uint64_t>(page, at), word<std::int64_t>(page, at + 8)};
    }
    return pairs[0].ticks < pairs[1].ticks ? pairs[0] : pairs[1];
}

void add_ring(const ReadAt& read, const Header& header, std::uint32_t ring,
              ProgramCounters& counters) {
    std::array<std::byte, 128> control{};
    if (read(ring_offset(header, ring), control) != control.size())
        return;
    const auto head = word<std::uint64_t>(control, offsetof(RingControl, head));
    const auto tail = word<std::uint64_t>(control, offsetof(RingControl, tail));
    const auto dropped = word<std::uint64_t>(control, offsetof(RingControl, dropped));
    const auto reported = word<std::uint64_t>(control, offsetof(RingControl, reported));
    counters.dropped += dropped;
    counters.unreported += dropped > reported ? dropped - reported : 0;
    // The tail may have moved on beyond the head that was read.
    const std::uint64_t waiting =
        head > tail ? std::min<std::uint64_t>(head - tail, header.ring_slots) : 0;
    counters.fullest_ring =
        std::max(counters.fullest_ring,
                 static_cast<double>(waiting) / static_cast<double>(header.ring_slots));
}

ProgramCounters read_counters(const ReadAt& read, const Header& header) {
    std::array<std::byte, sizeof(Counters)> page{};
    read(sizeof(Header), page);
    ProgramCounters counters;
    counters.sequence = word<std::uint64_t>(page, offsetof(Counters, sequence));
    counters.written = word<std::uint64_t>(page, offsetof(Counters, written));
    counters.dropped = word<std::uint64_t>(page, offsetof(Counters, lost)) +
                       word<std::uint64_t>(page, offsetof(Counters, without_ring));
    const auto reported = word<std::uint64_t>(page, offsetof(Counters, reported));
    counters.unreported = counters.dropped > reported ? counters.dropped - reported : 0;
    counters.forgotten = word<std::uint64_t>(page, offsetof(Counters, forgotten));
    counters.first_segment = word<std::uint32_t>(page, offsetof(Counters, first_segment));
    counters.last_segment = word<std::uint32_t>(page, offsetof(Counters, last_segment));
    counters.failures = word<std::uint32_t>(page, offsetof(Counters, failures));
    counters.closed = word<std::uint32_t>(page, offsetof(Counters, closed)) != 0;
    counters.rings_used =
        std::min(word<std::uint32_t>(page, offsetof(Counters, rings_used)), header.rings);
    counters.clock = whole_clock(page);
    for (std::uint32_t ring = 0; ring < counters.rings_used; ++ring)
        add_ring(read, header, ring, counters);
    return counters;
}

std::string list_text(const std::vector<LiveProgram>& programs) {
    std::string text;
    for (const LiveProgram& program : programs)
        text +=
            fmt::format("{}{} ({})", text.empty() ? "" : ", ", program.process(), program.name());
    return text.empty() ? "no program publishes here; see docs/guide/live.md"
                        : "programs that can be attached: " + text;
}

}  // namespace

bool is_alive(const Header& header) {
    const std::uint64_t start = process_start(header.process);
    return start != 0 && (header.process_start == 0 || start == header.process_start);
}

Result<LiveProgram> parse_program(const ReadAt& read, const std::string& path) {
    std::array<std::byte, sizeof(Header)> head{};
    const std::size_t count = read(0, head);
    LiveProgram program;
    program.path = path;
    TM_ASSIGN(program.header, parse_header(std::span(head).first(count), HeaderKind::shared, path));
    program.counters = read_counters(read, program.header);
    return program;
}

Result<LiveProgram> read_program(const std::string& shared_path) {
    const FileDescriptor file(::open(shared_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid())
        return io_error("cannot be opened", shared_path);
    // Plain reads: a mapping would let whoever cuts the file short kill the reader.
    const auto read = [&](std::uint64_t offset, std::span<std::byte> target) {
        return file.read_at(offset, target, shared_path).value_or(0);
    };
    Result<LiveProgram> program = parse_program(read, shared_path);
    if (program) {
        program->alive = is_alive(program->header);
        program->age = unix_now() - program->header.unix_time;
    }
    return program;
}

std::vector<LiveProgram> list_programs() {
    std::vector<LiveProgram> programs;
    for (const std::string& folder : runtime_folders()) {
        std::error_code problem;
        for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
            if (entry.path().extension() != ".live")
                continue;
            if (Result<LiveProgram> program = read_program(entry.path().string()))
                programs.push_back(std::move(*program));
        }
    }
    std::sort(programs.begin(), programs.end(), [](const LiveProgram& a, const LiveProgram& b) {
        return a.process() != b.process() ? a.process() < b.process()
                                          : a.header.session < b.header.session;
    });
    return programs;
}

Result<LiveProgram> find_program(std::string_view text) {
    const std::vector<LiveProgram> programs = list_programs();
    std::uint32_t process = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), process);
    const bool is_number = code == std::errc() && end == text.data() + text.size();
    std::vector<LiveProgram> named;
    for (const LiveProgram& program : programs) {
        if (is_number && program.process() == process)
            return program;
        if (!text.empty() && program.name().starts_with(text))
            named.push_back(program);
    }
    // A name's begin is enough unless several begin like that; the living go before the dead.
    const auto narrow = [&named](const auto& keep) {
        std::vector<LiveProgram> kept;
        std::copy_if(named.begin(), named.end(), std::back_inserter(kept), keep);
        if (!kept.empty())
            named = std::move(kept);
    };
    narrow([&](const LiveProgram& program) { return program.name() == text; });
    narrow([](const LiveProgram& program) { return program.alive; });
    if (named.size() == 1)
        return named.front();
    if (named.empty())
        return fail(ErrorCode::not_found, fmt::format("no program is called '{}'", text),
                    "--attach", list_text(programs));
    return fail(ErrorCode::bad_option, fmt::format("several programs are called '{}'", text),
                "--attach", "give a process id: " + list_text(named));
}

}  // namespace tidemark::live
