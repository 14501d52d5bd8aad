// Nothing of its own: with it the headers of support/precompiled.h are compiled.
