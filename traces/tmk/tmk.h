// .tmk: Tidemark's own trace file. Columns in chunks, zstd, a checksum per chunk, strings and
// stacks stored once. The layout is in docs/format-tmk.md. Same logical content = same bytes.
//
// Only the names of an open file are in memory; a cursor reads and decodes one chunk at a time, so
// memory is O(chunk).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// True if `head` is the start of a .tmk file.
bool is_tmk(std::span<const std::byte> head);

// Where a writer's bytes go: a file or memory. Used by one thread.
class ByteSink {
  public:
    virtual ~ByteSink() = default;

    // Errors: io; the writer then stops and returns it.
    virtual Result<void> write(std::span<const std::byte> bytes) = 0;
};

// Encodes events as they come, on up to `helpers` threads besides the caller's. Only the caller's
// thread writes to `target`: chunks in their order, soon after they are full. The bytes do not
// depend on `helpers`. `target` must outlive the writer. Memory O(chunk * (helpers + 1)) + strings
// and stacks.
std::unique_ptr<TraceSink> make_tmk_writer(ByteSink& target, unsigned helpers = 0);

// Opens a file. A file that was cut off opens up to its last complete chunk, with info().cut_off
// and a warning; names and call stacks are at the end of a file, so they are then lost. Errors: io;
// bad_input (not a .tmk, a newer version, damaged). If the file becomes shorter afterwards, cursors
// return bad_input at its end.
Result<std::unique_ptr<Trace>> open_tmk(const std::string& path);

// The same for an open plain file. `name` is for messages.
Result<std::unique_ptr<Trace>> open_tmk(FileDescriptor file, const std::string& name);

// The same for a whole file in memory, of which it takes ownership. `name` is for messages.
Result<std::unique_ptr<Trace>> open_tmk(std::vector<std::byte> bytes, std::string name);

}  // namespace tidemark
