/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tests: name (a sentence) and function. A test fails by CHECK. SEED and RUNS of the environment reach the
 * random ones. */
#ifndef TESTS_H
#define TESTS_H

#include "drive.h"

struct test {
    const char *name;
    void (*run)(void);
};

extern const struct test wear_tests[], health_tests[], scan_tests[], dies_tests[], bbt_tests[], mount_tests[],
    root_tests[], fading_tests[], retire_tests[], refresh_tests[], patrol_tests[], collect_tests[], replay_tests[],
    cut_tests[], supply_tests[], map_tests[], log_twice_tests[], memtest_tests[], prepared_tests[], group_tests[],
    foreign_tests[], moves_tests[], power_down_tests[], pace_tests[], changed_map_tests[], age_tests[];
extern unsigned long test_seed, test_runs;

/* Mounts and must succeed; starts a history. */
void mounted(void);
/* Power fails with nothing more finishing; the next mount. */
void remounted(void);

/* The NAND and the history as they were, then a mount that is cut before this operation. True: it ended before that. */
bool mount_cut_at(const struct sim_copy *nand, const struct drive *history, uint32_t cut);

/* Whether the report had these words, since this was asked last. */
bool says(const char *words);

/* One block written, durable and complete; the firmware runs until it has nothing left to move. */
void write_one(uint32_t i);
void quiet(void);

/* FLUSH, and a CHECKPOINT before power goes off; whether it could be done. */
bool power_down(void);
/* A CHECKPOINT, which must be done, with a start behind all that is logged. */
void checkpoint_asked(void);

#endif
