// Searches the runtime folders.
#include "traces/live/programs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "traces/live/runtime_folder.h"

namespace tidemark::live {
namespace {

template <class T>
T word(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// The older of the two: the newer one may be half written.
ClockPair whole_clock(std::span<const std::byte> page) {
    std::array<ClockPair, 2> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::size_t at = offsetof(Counters, clocks) + i * sizeof(SharedClock);
        pairs[i] = {word<std::uint64_t>(page, at), word<std::int64_t>(page, at + 8)};
    }
    return pairs[0].ticks < pairs[1].ticks ? pairs[0] : pairs[1];
}

void add_ring(const RingCounters& ring, const Header& header, ProgramCounters& counters) {
    counters.dropped += ring.dropped;
    counters.unreported += ring.dropped > ring.reported ? ring.dropped - ring.reported : 0;
    // The tail may have advanced beyond the head that was read.
    const std::uint64_t waiting =
        ring.head > ring.tail ? std::min<std::uint64_t>(ring.head - ring.tail, header.ring_slots)
                              : 0;
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
    for (std::uint32_t ring = 0; ring < counters.rings_used; ++ring) {
        if (const std::optional<RingCounters> found = read_ring(read, header, ring))
            add_ring(*found, header, counters);
    }
    return counters;
}

Result<OpenProgram> open_in(const OwnFolder& folder, const std::string& name) {
    OpenProgram found;
    TM_ASSIGN(found.file, folder.open_file(name, O_RDONLY));
    TM_ASSIGN(found.program, parse_program(found.reader(), folder.path() + "/" + name));
    found.program.alive = is_alive(found.program.header);
    const Nanoseconds begin = std::max<Nanoseconds>(found.program.header.unix_time, 0);
    found.program.age = std::max<Nanoseconds>(unix_now() - begin, 0);
    return found;
}

std::string list_text(const std::vector<LiveProgram>& programs, const std::vector<Error>& skipped) {
    std::string text;
    for (const LiveProgram& program : programs)
        text +=
            fmt::format("{}{} ({})", text.empty() ? "" : ", ", program.process(), program.name());
    text = text.empty() ? "no program publishes on this computer; see docs/guide/live.md"
                        : "programs that can be attached: " + text;
    if (!skipped.empty())
        text += "; skipped: " + to_text(skipped.front());
    if (skipped.size() > 1)
        text += fmt::format(" (and {} more: tidemark live)", skipped.size() - 1);
    return text;
}

void list_folder(const std::string& path, std::vector<LiveProgram>& programs,
                 std::vector<Error>& skipped) {
    const Result<OwnFolder> folder = open_live_folder(path);
    if (!folder) {
        if (folder.error().code != ErrorCode::not_found)
            skipped.push_back(folder.error());
        return;
    }
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator(path, problem)) {
        if (entry.path().extension() != ".live")
            continue;
        Result<OpenProgram> found = open_in(*folder, entry.path().filename().string());
        if (found)
            programs.push_back(std::move(found->program));
        else if (found.error().code != ErrorCode::not_found)
            skipped.push_back(found.error());
    }
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

std::optional<RingCounters> read_ring(const ReadAt& read, const Header& header,
                                      std::uint32_t ring) {
    std::array<std::byte, 128> control{};
    if (read(ring_offset(header, ring), control) != control.size())
        return std::nullopt;
    return RingCounters{word<std::uint64_t>(control, offsetof(RingControl, head)),
                        word<std::uint64_t>(control, offsetof(RingControl, tail)),
                        word<std::uint64_t>(control, offsetof(RingControl, dropped)),
                        word<std::uint64_t>(control, offsetof(RingControl, reported))};
}

// Plain reads: with a mapping, truncating the file would kill the reader.
ReadAt OpenProgram::reader() const {
    return [this](std::uint64_t offset, std::span<std::byte> target) -> std::size_t {
#ifdef SEEK_HOLE
        const off_t hole = ::lseek(file.get(), static_cast<off_t>(offset), SEEK_HOLE);
#else
        const off_t hole = -1;
#endif
        if (hole < 0 && errno == ENXIO)
            return 0;
        const std::uint64_t there =
            hole < 0 ? target.size() : static_cast<std::uint64_t>(hole) - offset;
        return file.read_at(offset, target.first(std::min<std::uint64_t>(there, target.size())), {})
            .value_or(0);
    };
}

Result<OpenProgram> open_program(const std::string& shared_path) {
    const std::filesystem::path path(shared_path);
    TM_ASSIGN(const OwnFolder folder, open_live_folder(path.parent_path().string()));
    return open_in(folder, path.filename().string());
}

Result<LiveProgram> read_program(const std::string& shared_path) {
    return open_program(shared_path).map([](OpenProgram found) { return found.program; });
}

std::vector<LiveProgram> list_programs(std::vector<Error>* skipped) {
    std::vector<LiveProgram> programs;
    std::vector<Error> left_out;
    for (const std::string& folder : runtime_folders())
        list_folder(folder, programs, left_out);
    if (skipped != nullptr)
        *skipped = std::move(left_out);
    std::sort(programs.begin(), programs.end(), [](const LiveProgram& a, const LiveProgram& b) {
        return a.process() != b.process() ? a.process() < b.process()
                                          : a.header.session < b.header.session;
    });
    return programs;
}

Result<LiveProgram> find_program(std::string_view text) {
    std::vector<Error> skipped;
    const std::vector<LiveProgram> programs = list_programs(&skipped);
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
    // The start of a name is enough unless several start like that; running programs come before
    // dead ones.
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
                    "--attach", list_text(programs, skipped));
    return fail(ErrorCode::bad_option, fmt::format("several programs are called '{}'", text),
                "--attach", "give a process id: " + list_text(named, {}));
}

}  // namespace tidemark::live
