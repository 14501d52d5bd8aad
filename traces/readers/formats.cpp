// The catalogue of formats. To add one, add a file here and one line in formats.inc.
#include <array>

#include "traces/readers/format.h"

namespace tidemark {
namespace formats {

#define TIDEMARK_FORMAT(name) FormatInfo name();
#include "traces/readers/formats.inc"
#undef TIDEMARK_FORMAT

}  // namespace formats

std::span<const FormatInfo> all_formats() {
    static const std::array catalogue{
#define TIDEMARK_FORMAT(name) formats::name(),
#include "traces/readers/formats.inc"
#undef TIDEMARK_FORMAT
    };
    return catalogue;
}

}  // namespace tidemark
