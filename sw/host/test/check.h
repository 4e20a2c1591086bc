// SPDX-License-Identifier: Apache-2.0
// Tests in C: a list of functions, each a sentence; the first CHECK that does not hold ends its test.
#ifndef OTX_CHECK_H
#define OTX_CHECK_H

struct check_test {
    const char *name;
    void (*run)(void);
};

#define TEST(name) {#name, name}
#define CHECK(what) \
    if (!(what)) check_failed(__FILE__, __LINE__, #what)

_Noreturn void check_failed(const char *file, int line, const char *what);

// Runs them all, or those whose name has `only` in it; the last line is "N passed, M failed". 0, or 1.
int check_run(const struct check_test *tests, int count, const char *only);

#endif
