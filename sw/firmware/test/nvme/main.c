/* SPDX-License-Identifier: Apache-2.0 */
/* nvme_test: runs all tests of nvme/, one line each; with ONLY=words those whose names have these words. Exit code 0
 * when all passed. */
#include <stdlib.h>

#include "fake.h"

jmp_buf failed;
char message[256];

/* In a function of its own: nothing that a longjmp could spoil lives here. */
static bool passes(const struct test *t) {
    if (setjmp(failed)) return false;
    t->run();
    return true;
}

int main(void) {
    static const struct test *const lists[] = {control_tests, identify_tests, queue_tests, feature_tests,
                                               log_tests,     event_tests,    random_tests};
    unsigned passed = 0, lost = 0;
    for (unsigned l = 0; l < sizeof lists / sizeof lists[0]; l++)
        for (const struct test *t = lists[l]; t->name; t++) {
            if (getenv("ONLY") && !strstr(t->name, getenv("ONLY"))) continue;
            bool ok = passes(t);
            printf("%-6s %s%s%s\n", ok ? "ok" : "FAILED", t->name, ok ? "" : ": ", ok ? "" : message);
            *(ok ? &passed : &lost) += 1;
        }
    printf("%u passed, %u failed\n", passed, lost);
    return lost != 0;
}
