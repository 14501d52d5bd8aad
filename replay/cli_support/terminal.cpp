// The screen: what it can do, and writing to it without being surprised by a closed pipe.
#include "replay/cli_support/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/text.h"
#include "replay/cli_support/front.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

constexpr Nanoseconds kFirstDrawn = 500'000'000;
constexpr Nanoseconds kRedrawn = 100'000'000;
constexpr std::uint64_t kShareSteps = 1000;
constexpr unsigned kNarrowest = 40;
constexpr unsigned kWidest = 400;

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

// The locale's name as setlocale would find it, without changing the process's locale.
bool speaks_utf8() {
    std::string_view locale;
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        locale = environment(name);
        if (!locale.empty())
            break;
    }
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
}

unsigned terminal_width(int descriptor) {
    winsize size{};
    unsigned width = 80;
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    else if (const auto columns = parse_count(environment("COLUMNS")); columns)
        width = static_cast<unsigned>(std::min<std::uint64_t>(*columns, kWidest));
    return std::clamp(width, kNarrowest, kWidest);
}

// False when the descriptor cannot take it; errno says why.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace

Terminal find_terminal() {
    Terminal terminal;
    terminal.output = ::isatty(STDOUT_FILENO) == 1;
    terminal.errors = ::isatty(STDERR_FILENO) == 1;
    const bool dumb = environment("TERM") == "dumb";
    terminal.colour = terminal.output && !dumb && environment("NO_COLOR").empty();
    terminal.unicode = terminal.output && speaks_utf8();
    if (terminal.output)
        terminal.width = terminal_width(STDOUT_FILENO);
    return terminal;
}

Written write_output(std::string_view text) {
    if (write_all(STDOUT_FILENO, text))
        return Written::all;
    return errno == EPIPE ? Written::nobody_reads : Written::failed;
}

bool output_is_closed() {
    pollfd output{STDOUT_FILENO, POLLOUT, 0};
    return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void print_error(std::string_view text) {
    // If standard error is gone too there is nobody left to report it to.
    static_cast<void>(write_all(STDERR_FILENO, fmt::format("tidemark: {}\n", printable(text))));
}

void print_help_to_errors(std::string_view text) {
    static_cast<void>(write_all(STDERR_FILENO, printable(text, true)));
}

Progress::Progress(Front& front, std::string label)
    : front_(front),
      label_(printable(label)),
      width_(80),
      enabled_(front.terminal().errors),
      next_(kFirstDrawn) {
    if (enabled_)
        width_ = terminal_width(STDERR_FILENO);
    front_.show(label_, 0, 0);
}

bool Progress::due() {
    if (!enabled_)
        return false;
    const Nanoseconds now = stopwatch_.elapsed();
    if (now < next_)
        return false;
    next_ = now + kRedrawn;
    return true;
}

void Progress::show_events(std::uint64_t done, std::uint64_t total) {
    front_.show(label_, done, total);
    if (!due())
        return;
    if (total == 0)
        return draw(format_count(done) + " events", -1);
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    draw(fmt::format("{:3.0f} %  {}", share * 100, format_counted(done, "event")), share);
}

void Progress::show_work(std::uint64_t done, std::uint64_t total, std::string_view one) {
    front_.show(label_, done, total);
    if (done == 0 || total == 0 || !due())
        return;
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const double left = static_cast<double>(stopwatch_.elapsed()) * (1 - share) / share;
    draw(fmt::format("{} of {}, {} left", format_count(done), format_counted(total, one),
                     format_duration(static_cast<Nanoseconds>(left))),
         share);
}

void Progress::show_bytes(std::uint64_t done) {
    front_.show(label_, done, 0);
    if (due())
        draw(format_bytes(done), -1);
}

void Progress::show_share(double share) {
    front_.show(label_, static_cast<std::uint64_t>(share * kShareSteps), kShareSteps);
    if (due())
        draw(fmt::format("{:3.0f} %", share * 100), share);
}

void Progress::draw(const std::string& amount, double share) {
    std::string line = one_line(label_, width_ / 2) + "  ";
    const std::size_t used = line.size() + amount.size() + 4;
    if (share >= 0 && used + 10 < width_) {
        const std::size_t room = std::min<std::size_t>(width_ - used, 40);
        const auto filled = static_cast<std::size_t>(share * static_cast<double>(room));
        line += fmt::format("[{:<{}}] ", std::string(filled, '#'), room);
    }
    drawn_ = true;
    static_cast<void>(
        write_all(STDERR_FILENO, fmt::format("\r\x1b[K{}", one_line(line + amount, width_ - 2))));
}

void Progress::clear() {
    if (std::exchange(drawn_, false))
        static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
}

}  // namespace tidemark
