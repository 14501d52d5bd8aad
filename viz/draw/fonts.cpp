// Fills the font atlas.
#include "viz/draw/fonts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::viz {
namespace {

// ImGui measures a font from its highest to its deepest point: DejaVu's letters are 13.7 px then.
constexpr float kTextSize = 16;
constexpr float kHeadingShare = 1.35F;
constexpr float kBuiltInSize = 13;  // drawn for that size; blurred at any size that isn't a
                                    // multiple

// Latin with its accents, Greek (units), dashes and dots, arrows, mathematical signs, blocks.
constexpr std::array<ImWchar, 15> kRanges = {0x20,   0xff,   0x370,  0x3ff,  0x2010,
                                             0x2044, 0x2190, 0x21ff, 0x2200, 0x22ff,
                                             0x2580, 0x25ff, 0x2713, 0x2717, 0};

// Replacements for signs that the font lacks.
constexpr std::array<std::pair<ImWchar, ImWchar>, 20> kFallbacks = {{
    {0x2190, '<'},  {0x2191, '^'}, {0x2192, '>'}, {0x2193, 'v'},  {0x2010, '-'},
    {0x2011, '-'},  {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'},  {0x2018, '\''},
    {0x2019, '\''}, {0x201c, '"'}, {0x201d, '"'}, {0x2022, 0xb7}, {0x2026, 0x85},
    {0x2212, '-'},  {0x2248, '~'}, {0x2264, '<'}, {0x2265, '>'},  {0x394, 'd'},
}};

// The user's first.
std::vector<std::string> font_folders() {
    std::vector<std::string> folders;
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
        folders.push_back(std::string(home) + "/.local/share/fonts");
        folders.push_back(std::string(home) + "/.fonts");
    }
    folders.emplace_back("/usr/local/share/fonts");
    folders.emplace_back("/usr/share/fonts");
    return folders;
}

std::string find_font(const std::string& name) {
    std::error_code ignored;
    for (const std::string& folder : font_folders())
        for (const char* inside :
             {"/truetype/dejavu/", "/dejavu/", "/TTF/", "/dejavu-sans-fonts/", "/"}) {
            std::string path = folder + inside + name;
            if (std::filesystem::is_regular_file(path, ignored))
                return path;
        }
    return {};
}

ImFont* add_system_font(ImFontAtlas& atlas, const std::string& name, float size) {
    const std::string path = find_font(name);
    if (path.empty())
        return nullptr;
    ImFontConfig config;
    config.OversampleH = 1;  // letters are aligned to whole pixels, so that any renderer just
                             // copies them
    config.OversampleV = 1;
    config.PixelSnapH = true;
    return atlas.AddFontFromFileTTF(path.c_str(), size, &config, kRanges.data());
}

ImFont* add_built_in(ImFontAtlas& atlas, float multiple) {
    ImFontConfig config;
    config.SizePixels = kBuiltInSize * multiple;
    config.OversampleH = 1;
    config.OversampleV = 1;
    config.PixelSnapH = true;
    return atlas.AddFontDefault(&config);
}

void add_fallbacks(ImFont& font) {
    for (const auto& [sign, instead] : kFallbacks)
        if (font.FindGlyphNoFallback(sign) == nullptr &&
            font.FindGlyphNoFallback(instead) != nullptr)
            font.AddRemapChar(sign, instead);
}

}  // namespace

Fonts load_fonts(ImFontAtlas& atlas, float scale, FontChoice choice) {
    const float bounded = std::clamp(scale, kSmallestScale, kLargestScale);
    atlas.Clear();
    atlas.Flags |= ImFontAtlasFlags_NoBakedLines;
    const auto add = [&atlas, bounded, choice](const char* name, float share) {
        ImFont* font = nullptr;
        if (choice == FontChoice::system)
            font = add_system_font(atlas, name, std::round(kTextSize * share * bounded));
        return font != nullptr ? font : add_built_in(atlas, std::max(1.0F, std::round(bounded)));
    };
    // Always three, in this order: their position in the atlas identifies them (current_fonts).
    Fonts fonts;
    fonts.text = add("DejaVuSans.ttf", 1);
    fonts.fixed = add("DejaVuSansMono.ttf", 1);
    fonts.heading = add("DejaVuSans-Bold.ttf", kHeadingShare);
    atlas.Build();
    for (ImFont* font : {fonts.text, fonts.fixed, fonts.heading})
        add_fallbacks(*font);
    return fonts;
}

Fonts current_fonts() {
    const ImVector<ImFont*>& fonts = ImGui::GetIO().Fonts->Fonts;
    if (fonts.Size < 3)
        return {ImGui::GetFont(), ImGui::GetFont(), ImGui::GetFont()};
    return {fonts[0], fonts[1], fonts[2]};
}

}  // namespace tidemark::viz
