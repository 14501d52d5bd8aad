// The program `tidemark`: only its main(), so that in a wheel the rest can be in libtidemark.so.
#include "replay/app/tidemark_main.h"

int main(int argc, char** argv) {
    return tidemark_main(argc, argv);
}
