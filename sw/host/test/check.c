// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf out;

_Noreturn void check_failed(const char *file, int line, const char *what) {
    printf("%s:%d: %s\n", file, line, what);
    longjmp(out, 1);
}

int check_run(const struct check_test *tests, int count, const char *only) {
    static int passed, failed, i;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (i = 0; i < count; i++) {
        if (only && !strstr(tests[i].name, only)) continue;
        if (setjmp(out)) {
            printf("FAILED %s\n", tests[i].name);
            failed++;
            continue;
        }
        tests[i].run();
        passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
