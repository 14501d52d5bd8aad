// The program `tidemark-view`: only its main(), so that in a wheel the rest is in libtidemark.so.
#include "viz/app/view_main.h"

int main(int argc, char** argv) {
    return tidemark_view_main(argc, argv);
}
