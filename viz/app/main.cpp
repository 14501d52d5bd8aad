// tidemark-view: the program.
int main() {
    return 0;
}
