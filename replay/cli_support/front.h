// Front: whoever runs a command, and takes what it says apart from its answer: a person at a
// terminal (TerminalFront), or a program that has the library (replay/c_api). Everything that a
// command does to its surroundings but reading and writing named files goes through here, so that
// commands may run in threads of other programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/terminal.h"

namespace tidemark {

class Trace;

// How a recording is opened.
struct TraceReading {
    bool strict = false;
    bool lenient = false;
    bool as_recorded = false;
};

class Front {
  public:
    explicit Front(const Terminal& terminal) : terminal_(terminal) {}

    Front(const Front&) = delete;
    Front& operator=(const Front&) = delete;
    virtual ~Front() = default;

    const Terminal& terminal() const { return terminal_; }

    // Takes a line for standard error, without the program's name in front.
    virtual void note(std::string_view text) = 0;

    // The same for help after wrong usage, with its lines kept.
    virtual void note_help(std::string_view text) = 0;

    // Takes how far the work is, from any thread; `total` 0 = not known. For those who have no
    // terminal: on one, Progress draws it.
    virtual void show(std::string_view label, std::uint64_t done, std::uint64_t total) = 0;

    // Says from any thread whether a search is to end, with the best so far.
    virtual std::function<bool()> stop() = 0;

    // The same of all work, whose result nobody wants then; empty on a terminal, where a signal
    // ends the process. Valid while this lives.
    virtual std::function<bool()> cancelled() = 0;

    // A recording that whoever asks has open already, read from `path` as `reading` says, with what
    // is inferred or (`recorded`) as it was read; null: it is to be opened. Outlives the command.
    virtual const Trace* opened(const std::string& path, const TraceReading& reading,
                                bool recorded) const {
        static_cast<void>(path);
        static_cast<void>(reading);
        static_cast<void>(recorded);
        return nullptr;
    }

    // The process is ours: its signals, its standard input and output.
    virtual bool owns_process() const = 0;

  private:
    Terminal terminal_;
};

// The program at its terminal.
class TerminalFront final : public Front {
  public:
    TerminalFront() : Front(find_terminal()) {}

    void note(std::string_view text) override { print_error(text); }

    void note_help(std::string_view text) override { print_help_to_errors(text); }

    void show(std::string_view, std::uint64_t, std::uint64_t) override {}

    std::function<bool()> stop() override { return Interrupt::requested; }

    std::function<bool()> cancelled() override { return {}; }

    bool owns_process() const override { return true; }
};

}  // namespace tidemark
