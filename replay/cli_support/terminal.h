// Terminal: what the program may do on the screen that it was started from, and the progress line.
//
// Results go to standard output and are plain when that is a file or a pipe; progress and errors go
// to standard error. NO_COLOR and TERM=dumb are honoured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/stopwatch.h"

namespace tidemark {

class Front;

struct Terminal {
    bool output = false;   // standard output is a terminal
    bool errors = false;   // standard error is one
    bool colour = false;   // escape sequences are welcome on standard output
    bool unicode = false;  // standard output is a terminal that shows UTF-8
    unsigned width = 80;   // columns; 80 for what is not a terminal
};

// Asks the system and the environment (COLUMNS, LC_ALL, LC_CTYPE, LANG, TERM, NO_COLOR).
Terminal find_terminal();

// What came of writing to standard output.
enum class Written : std::uint8_t {
    all,
    nobody_reads,  // the reader went away (`| head`): no error, nothing more to say
    failed,        // errno says why
};

// Writes and flushes. With SIGPIPE ignored, as main does.
Written write_output(std::string_view text);

// True when standard output is a pipe that nobody reads any more.
bool output_is_closed();

// "tidemark: text" and a new line, to standard error. `text` is made printable here: every error,
// warning and note passes.
void print_error(std::string_view text);

// The same without the name in front and with its lines kept: for help after wrong usage.
void print_help_to_errors(std::string_view text);

// Says how far we are: to a Front that takes that, and else as one line on standard error, redrawn
// a few times a second, only on a terminal and only once the work has lasted half a second; removed
// at the end. Not thread-safe.
class Progress {
  public:
    // `front` must outlive it.
    Progress(Front& front, std::string label);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    ~Progress() { clear(); }

    // `total` 0 = not known.
    void show_events(std::uint64_t done, std::uint64_t total);

    // The same as a callback, for work that counts its events, and for work on `total` of them.
    // Valid while this lives.
    std::function<void(std::uint64_t done, std::uint64_t total)> listener() {
        return [this](std::uint64_t done, std::uint64_t total) { show_events(done, total); };
    }

    std::function<void(std::uint64_t done)> listener(std::uint64_t total) {
        return [this, total](std::uint64_t done) { show_events(done, total); };
    }

    // Of pieces of work that each take long enough to say how long the rest will: "12 of 400 units,
    // 3 min left".
    void show_work(std::uint64_t done, std::uint64_t total, std::string_view one);

    void show_bytes(std::uint64_t done);
    void show_share(double share);

    void clear();

  private:
    bool due();
    void draw(const std::string& amount, double share);

    Front& front_;
    std::string label_;
    unsigned width_;
    bool enabled_;
    bool drawn_ = false;
    Nanoseconds next_;
    Stopwatch stopwatch_;
};

}  // namespace tidemark
