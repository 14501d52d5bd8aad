// Three bytes, four letters.
#include "replay/report/forms/base64.h"

#include <cstddef>
#include <cstdint>

namespace tidemark::report {

std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            three = three << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        for (std::size_t letter = 0; letter < 4; ++letter) {
            const bool padding = i + letter > bytes.size();
            text += padding ? '=' : kLetters[three >> (18 - 6 * letter) & 0x3f];
        }
    }
    return text;
}

}  // namespace tidemark::report
