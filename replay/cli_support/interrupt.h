// Interrupt: Ctrl-C in a search asks it to end with the best so far; a second one ends the program.
#pragma once

namespace tidemark {

// While one lives, the first SIGINT only makes requested() true; not where the process isn't ours
// (Front::owns_process). At most one at a time there. requested() may be called by any thread.
class Interrupt {
  public:
    explicit Interrupt(bool owns_process);
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    static bool requested();

  private:
    bool installed_;
};

}  // namespace tidemark
