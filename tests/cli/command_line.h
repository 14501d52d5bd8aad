// Runs the program as a user would and keeps what it said. Standard input, output and error are
// pipes, or one terminal of a given width.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tidemark::support {

struct Said {
    int code = -1;  // the exit code, or 128 + the signal that ended it
    std::string out;
    std::string err;  // with a terminal, everything is in `out`
};

struct Surroundings {
    std::string input = {};
    std::vector<std::pair<std::string, std::string>> environment = {};  // added to the test's own
    unsigned terminal_width = 0;                                        // 0 = pipes
    std::string output_to = {};  // a file or device that takes standard output instead
    bool close_output = false;   // nobody reads it
};

// Runs `tidemark ARGUMENTS`. Waits for its end.
Said tidemark(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

// What it prints with --json: exit code `code`, nothing on standard error (CHECKed).
nlohmann::json tidemark_json(std::vector<std::string> arguments,
                             const Surroundings& surroundings = {}, int code = 0);

// What it says on standard error: exit code `code`, nothing on standard output (CHECKed).
std::string refusal(const std::vector<std::string>& arguments, int code = 2);

// A folder of its own, removed at the end.
class Folder {
  public:
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    const std::string& path() const { return path_; }

    std::vector<std::string> names() const;  // sorted

  private:
    std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

// A file of the project, "traces/samples/torch/gpt2_var.pickle.xz".
std::string project_file(const std::string& path);

// A recorded run, the same with the oldest events lost, and one that is made quickly.
inline const std::string kSample = project_file("traces/samples/torch/gpt2_var.pickle.xz");
inline const std::string kRing = project_file("traces/samples/torch/gpt2_var-ring.pickle.xz");
constexpr const char* kSteps = "generate:steps:events=5000";

// A computer without GPUs, their driver and Python.
inline const Surroundings kBare{.environment = {{"TIDEMARK_CUDA_DRIVER", "/no/such/libcuda.so"},
                                                {"TIDEMARK_NVML", "/no/such/libnvidia-ml.so"},
                                                {"TIDEMARK_PYTHON", "/no/such/python"},
                                                {"TIDEMARK_CUPTI", "/no/such/libcupti.so"}}};

bool contains(const std::string& text, const std::string& part);

}  // namespace tidemark::support
