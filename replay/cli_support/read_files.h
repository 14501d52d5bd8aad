// Which files a command reads, by what its arguments say: what it writes must be none of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/io/output_target.h"

namespace tidemark {

// The library, plan or other file that a policy's text names ("plan:file=plan.csv"); none where it
// is no policy.
std::vector<std::string> files_of_policy(const std::string& text);

// The plain files that `inputs` stand for, as far as one of them may be `target`: files, patterns,
// "-", "sim:FILE", each with what is read along with it (the other files of a
// recording); and the recordings and units of a sweep in folders. Of folders only what is `target`
// is looked at. What is no file is left out.
std::vector<FileIdentity> identities_read(std::span<const std::string> inputs,
                                          const std::string& target);

// "0123456789abcdef.json": whether a file is called as the units of a sweep are.
bool is_unit_file(const std::string& path);

// The same for two paths that lead to the same file, be it there or not. "" for what isn't
// replaced: standard output, a pipe, a device.
std::string name_of_output(const std::string& path);

}  // namespace tidemark
