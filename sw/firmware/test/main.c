/* SPDX-License-Identifier: Apache-2.0 */
/* ftl_test [results.xml]: runs all tests, one line each; with FIRST in the environment until one fails, with ONLY=words
 * those whose names have these words.
 * Exit code 0 when all passed. */
#include <string.h>

#include "tests.h"

jmp_buf sim_failed;
char sim_message[256];
unsigned long test_seed = 1, test_runs = 4000, sim_cuts;

void mounted(void) {
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_start();
}

void remounted(void) {
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
}

bool mount_cut_at(const struct sim_copy *nand, const struct drive *history, uint32_t cut) {
    sim_restore(nand);
    drive = *history;
    sim_seed(cut);
    sim.cut_at = cut;
    bool ended = sim_mount(&drive.ftl) != -1;
    sim.cut_at = 0;
    return ended;
}

void write_one(uint32_t i) {
    CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
    drive_settle();
}

void quiet(void) {
    drive_supply(8); /* reports of pages are taken */
    for (uint32_t i = 0; i < 5000 && !(ftl_retire_idle(&drive.ftl, &drive.retire) && ftl_io_empty(&drive.ftl.io)); i++)
        drive_supply(1);
    CHECK(ftl_retire_idle(&drive.ftl, &drive.retire));
    drive_settle();
}

/* In a function of its own: nothing that a longjmp could spoil lives here. */
static bool passes(const struct test *t) {
    if (setjmp(sim_failed)) return false;
    t->run();
    return true;
}

int main(int argc, char **argv) {
    static const struct test *const lists[] = {
        scan_tests,       mount_tests,     root_tests,        fading_tests, dies_tests,    bbt_tests,    replay_tests,
        foreign_tests,    supply_tests,    prepared_tests,    retire_tests, refresh_tests, patrol_tests, collect_tests,
        wear_tests,       health_tests,    memtest_tests,     group_tests,  map_tests,     moves_tests,  pace_tests,
        power_down_tests, log_twice_tests, changed_map_tests, age_tests,    cut_tests};
    unsigned passed = 0, failed = 0;
    if (getenv("SEED")) test_seed = strtoul(getenv("SEED"), NULL, 10);
    if (getenv("RUNS")) test_runs = strtoul(getenv("RUNS"), NULL, 10);
    FILE *xml = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (xml) fprintf(xml, "<testsuites><testsuite name=\"firmware\">\n");
    for (unsigned l = 0; l < sizeof lists / sizeof lists[0]; l++)
        for (const struct test *t = lists[l]; t->name && (failed == 0 || !getenv("FIRST")); t++) {
            if (getenv("ONLY") && !strstr(t->name, getenv("ONLY"))) continue;
            sim_seed(test_seed);
            bool ok = passes(t);
            printf("%-6s %s%s%s\n", ok ? "ok" : "FAILED", t->name, ok ? "" : ": ", ok ? "" : sim_message);
            if (xml)
                fprintf(xml, "<testcase classname=\"firmware\" name=\"%s\">%s</testcase>\n", t->name,
                        ok ? "" : "<failure/>");
            if (ok) passed++;
            else failed++;
        }
    if (xml) fprintf(xml, "</testsuite></testsuites>\n");
    if (xml) fclose(xml);
    printf("seen: {\"power cuts\": %lu}\n%u passed, %u failed\n", sim_cuts, passed, failed);
    return failed != 0;
}
