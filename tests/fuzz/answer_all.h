// What was read goes through every command's text: none may crash, hang, or say what a
// terminal, a parser or a person can't take. Fuzz targets and the corpus of extremes share this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "traces/model/trace.h"

namespace tidemark::fuzz {

// Whether the bytes are few and no compressed file, in which few bytes may stand for many events:
// the decoders have a target of their own.
bool is_quick(std::span<const std::byte> bytes);

// Which commands: `few` reads and replays once (info, report), `all` goes on with replay, compare,
// verify and, where the program is no larger than a machine, advise and fit.
enum class Commands : std::uint8_t { few, all };

// The file at `path`, of any format: text, JSON and page. Aborts (TM_CHECK) on text that isn't
// sane; an Error of a reader or an analysis is an answer. Returns whether it could be read.
bool answer(const std::string& path, const ReadOptions& options, Commands commands);

}  // namespace tidemark::fuzz
