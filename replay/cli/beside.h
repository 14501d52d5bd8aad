// Files that are installed with the program: the viewer, the recorder's library, the page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tidemark {

// The folder of the program that runs; empty if the system doesn't say.
std::filesystem::path program_folder();

// The file `name` that was built or installed together with this code: next to the program or
// libtidemark.so, whichever has it, or in the other folders of the same build, prefix or wheel.
std::optional<std::string> find_beside(const std::string& name);

}  // namespace tidemark
