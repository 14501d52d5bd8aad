// What tests of `tidemark record` share: where it records a program, and what came of that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/live_folder.h"
#include "traces/live/merge.h"
#include "traces/live/wire.h"

namespace tidemark::support {

using live::RecordKind;

// Where recordings of a test go, and the driver that its programs find.
struct RecordFolder : LiveFolder {
    std::string recording = file("run.tml");
    Surroundings here{.environment = {{"TIDEMARK_CUDA_DRIVER", TIDEMARK_REPORTED_DRIVER},
                                      {"TIDEMARK_CUPTI", TIDEMARK_REPORTED_DRIVER},
                                      {"TIDEMARK_FAKE_CUDA_CONFIG", "devices=2,memory=1073741824"},
                                      {"TIDEMARK_LIBRARY", TIDEMARK_C_LIBRARY}}};

    Said record(const std::vector<std::string>& steps,
                const std::vector<std::string>& options = {}) const {
        std::vector<std::string> line{"record", "-o", recording};
        if (is_recorded())
            line.emplace_back("--force");  // over the last one
        line.insert(line.end(), options.begin(), options.end());
        line.insert(line.end(), {"--", TIDEMARK_RECORDED_PROGRAM});
        line.insert(line.end(), steps.begin(), steps.end());
        return tidemark(line, here);
    }

    bool is_recorded() const {
        return std::filesystem::exists(recording) && read_file(recording).starts_with("\x89TML");
    }

    // Recordings that are there.
    std::size_t recordings() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            std::filesystem::directory_iterator(path()),
            [](const auto& entry) { return entry.path().extension() == ".tml"; }));
    }
};

// An event with what its numbers mean.
struct RecordedEvent {
    live::Record record;
    std::string tag;
    std::uint64_t pool = 0;
    std::uint64_t stream = 0;
    std::string text;  // of a mark
};

// Everything in a recording, as it was put there.
inline std::vector<RecordedEvent> read_events(const std::string& path) {
    const std::string bytes = support::read_file(path);
    REQUIRE(bytes.size() >= sizeof(live::Header));
    std::span<const std::byte> rest = std::as_bytes(std::span(bytes));
    rest = rest.subspan(sizeof(live::Header));
    std::map<std::uint64_t, std::string> strings;
    std::map<std::uint32_t, live::Record> sites;
    std::map<std::pair<std::uint32_t, unsigned>, std::uint64_t> streams;
    std::vector<RecordedEvent> events;
    for (live::FoundChunk chunk = live::find_chunk(rest); chunk.whole;
         chunk = live::find_chunk(rest)) {
        for (std::size_t at = 0; at * sizeof(live::Record) < chunk.slots.size(); ++at) {
            const live::Record record = live::slot_at(chunk.slots, at);
            const auto payload = static_cast<std::size_t>(live::payload_slots(record));
            if (record.kind == RecordKind::string)
                strings[record.site] = {
                    reinterpret_cast<const char*>(chunk.slots.data()) + (at + 1) * sizeof record,
                    record.size};
            else if (record.kind == RecordKind::site)
                sites[record.site] = record;
            else if (record.kind == RecordKind::stream)
                streams[{record.site >> live::kNumberBits, record.stream}] = record.extra;
            else if (!live::is_name(record.kind))
                events.push_back({record, strings[sites[record.site].address],
                                  sites[record.site].extra,
                                  streams[{record.site >> live::kNumberBits, record.stream}],
                                  strings[record.extra]});
            at += payload;
        }
        rest = rest.subspan(chunk.needed);
    }
    return events;
}

}  // namespace tidemark::support
