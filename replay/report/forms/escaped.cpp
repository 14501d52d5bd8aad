// Five characters, by their references.
#include "replay/report/forms/escaped.h"

#include "replay/report/forms/wording.h"

namespace tidemark::report {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char letter : printable(text, true)) {
        switch (letter) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += letter;
        }
    }
    return out;
}

}  // namespace tidemark::report
