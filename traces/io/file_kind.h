// FileKind: what is in a file, as far as its first bytes show: all formats that Tidemark writes
// itself, and recordings. A command may replace a file only by one of the same kind
// (output_target.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark {

// How .tmk files and live recordings (.tml) start.
inline constexpr std::array<unsigned char, 8> kTmkMagic{0x89, 'T',  'M',  'K',
                                                        '\r', '\n', 0x1a, '\n'};
inline constexpr std::array<unsigned char, 8> kRecordingMagic{0x89, 'T',  'M',  'L',
                                                              '\r', '\n', 0x1a, '\n'};

enum class FileKind : std::uint8_t {
    unknown,  // another program's or a person's; also other programs' formats that we write
    recording,
    jsonl_export,
    chrome_export,
    decisions,
    state_dump,
    tier_timeline,
    baseline,
    junit,
    sweep_lines,
    report,
    png,
    svg,
    table,
    profile,
    machine,
    settings,
    state_log,
    figures,
};

// This many bytes from the start of a file are enough.
inline constexpr std::size_t kKindHead = 4096;

// The kind of a file that starts with `head`: each of our formats has a mark near its start.
// Pickles that aren't ours count as recordings, since PyTorch's snapshots are pickles. Pure.
// O(size).
FileKind kind_of(std::string_view head);

// "a recording", "a report": for messages.
std::string_view to_text(FileKind kind);

}  // namespace tidemark
