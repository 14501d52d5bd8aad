// CsvLine: a line of comma-separated values (RFC 4180), for commands and the viewer; quoted where
// needed. A text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a
// carriage return) gets an apostrophe in front, and so does one that begins with an apostrophe:
// removing one apostrophe from each text that begins with one restores the texts. Control
// characters of a terminal are escaped (core/base/printable.h). Numbers stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark {

class CsvLine {
  public:
    // `line_end` ends each line, a literal: RFC 4180 has CRLF, shell tools need LF.
    explicit CsvLine(std::string_view line_end = "\r\n") : line_end_(line_end) {}

    // A text with unknown content.
    void text(std::string_view content) {
        const bool is_formula =
            !content.empty() &&
            std::string_view("=+-@\t\r'").find(content[0]) != std::string_view::npos;
        put(printable(content), is_formula ? "'" : "");
    }

    // Text of our own: a figure with its unit, a word.
    void figure(std::string_view content) { put(content, ""); }

    template <class Number>
    void number(Number value) {
        separate();
        fmt::format_to(std::back_inserter(line_), "{}", value);
    }

    void nothing() { separate(); }

    // Ends the line; the next one begins.
    void end() {
        line_ += line_end_;
        is_first_ = true;
    }

    // All lines so far.
    std::string& lines() { return line_; }

  private:
    void separate() {
        if (!is_first_)
            line_ += ',';
        is_first_ = false;
    }

    void put(std::string_view content, std::string_view before) {
        separate();
        if (content.find_first_of(",\"\r\n") == std::string_view::npos) {
            line_ += before;
            line_ += content;
            return;
        }
        line_ += '"';
        line_ += before;
        for (const char letter : content) {
            if (letter == '"')
                line_ += '"';
            line_ += letter;
        }
        line_ += '"';
    }

    std::string_view line_end_;
    std::string line_;
    bool is_first_ = true;
};

}  // namespace tidemark
