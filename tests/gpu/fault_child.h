// A second process for faults that a process does not survive: this test program again, told which
// of its hidden tests to run. It is started with exec, never by a bare fork, which a process that
// uses CUDA may not do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tidemark::faults {

class Child {
  public:
    using Variables = std::vector<std::pair<std::string, std::string>>;

    // Runs the hidden test of that name, with these variables beside the environment's.
    Child(const std::string& test, const Variables& variables);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    // Reads what it prints until that contains `text`; false if it ended or was silent too long.
    bool wait_for(const std::string& text, std::chrono::seconds limit);

    // Tells it to go on from where it waits for its parent.
    void go_on();

    // Tells it so for good (its input ends), and waits for its end. Its exit code; 128 + the signal
    // that ended it; nothing if it was still there after `limit`, and had to be killed.
    std::optional<int> finish(std::chrono::seconds limit);

    const std::string& output() const { return output_; }

  private:
    bool read_some(int milliseconds);

    pid_t process_ = -1;
    int input_ = -1;    // of the child
    int printed_ = -1;  // by the child
    std::string output_;
};

// For the child: prints a line that the parent sees at once; waits until the parent says go on. On
// its own, with no input, it goes on by itself.
void emit(const std::string& line);
void wait_for_parent();

}  // namespace tidemark::faults
