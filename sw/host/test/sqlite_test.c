// SPDX-License-Identifier: Apache-2.0
// SQLite's VFS against a model of the drive: what a transaction asks of it, every power cut, every command refused.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "model_drive.h"
#include "otx.h"
#include "otx_sqlite.h"
#include "store.h"

enum { STEPS = 14, PATH = 200 };

static sqlite3 *db;

static int try_open(const char *parameters) {
    char uri[PATH];
    snprintf(uri, sizeof uri, "file:model?vfs=model%s", parameters);
    const int rc = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    return rc;
}

static void shut(void) {
    sqlite3_close(db);
    db = NULL;
}

static int run(const char *sql) { return sqlite3_exec(db, sql, NULL, NULL, NULL); }

// The first column of the first row.
static const char *text(const char *sql) {
    static char said[400];
    sqlite3_stmt *s = NULL;
    snprintf(said, sizeof said, "error");
    if (!sqlite3_prepare_v2(db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW)
        snprintf(said, sizeof said, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return said;
}

static bool is(const char *sql, const char *wanted) { return !strcmp(text(sql), wanted); }
static bool sound(void) { return is("PRAGMA integrity_check", "ok"); }

static void fresh(uint32_t entries, const char *parameters, const char *pragmas) {
    model_new(entries);
    CHECK(try_open(parameters) == SQLITE_OK && run(pragmas) == SQLITE_OK);
}

// A workload: SQL of one transaction each.
static const char *const work[STEPS] = {
    "CREATE TABLE t(n INTEGER PRIMARY KEY, k, body)",
    "INSERT INTO t(k, body) VALUES(1, randomblob(100))",
    "INSERT INTO t(k, body) SELECT value, zeroblob(3000) FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT "
    "value + 1 FROM c WHERE value < 12) SELECT value FROM c)",
    "CREATE INDEX i ON t(k)",
    "INSERT INTO t(k, body) VALUES(2, zeroblob(20000))",
    "BEGIN; INSERT INTO t(k, body) VALUES(3, 'gone'); ROLLBACK",
    "BEGIN; UPDATE t SET k = k + 100; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT",
    "UPDATE t SET body = zeroblob(5000) WHERE n % 2",
    "BEGIN; DELETE FROM t; INSERT INTO t(k) VALUES(9); SELECT count(*) FROM t; ROLLBACK",
    "DELETE FROM t WHERE n % 3 = 0",
    "CREATE TABLE other AS SELECT n, hex(body) AS h FROM t",
    "VACUUM",
    "DROP TABLE other",
    "INSERT INTO t(k, body) VALUES(4, 'the last')",
};

static const char state[] = "SELECT (SELECT count(*) FROM sqlite_schema) || ' ' || (SELECT count(*) || ' ' || total(n) "
                            "|| ' ' || total(k) || ' ' "
                            "|| total(length(body)) FROM t)";
static char wanted[STEPS + 1][400];  // of `state` after so many steps

static const char *now(void) { return is("SELECT count(*) FROM sqlite_schema", "0") ? "nothing" : text(state); }

// Runs the steps until one fails; how many did not.
static int steps(void) {
    for (int i = 0; i < STEPS; i++)
        if (run(work[i])) return i;
    return STEPS;
}

static int count_commands(const char *parameters, const char *pragmas) {
    fresh(500, parameters, pragmas);
    snprintf(wanted[0], sizeof wanted[0], "nothing");
    for (int i = 0; i < STEPS; i++) {
        CHECK(!run(work[i]));
        snprintf(wanted[i + 1], sizeof wanted[i + 1], "%s", now());
    }
    CHECK(sound());
    const int commands = model.commands;
    shut();
    return commands;
}

static bool one_of(int least, int most) {
    const char *found = now();
    for (int i = least; i <= most && i <= STEPS; i++)
        if (!strcmp(found, wanted[i])) return true;
    printf("after %d steps: %s\n", least, found);
    return false;
}

// Power fails in each command of the workload in turn, before it took place and after.
static void cut_everywhere(const char *parameters, const char *pragmas, bool relaxed) {
    const int commands = count_commands(parameters, pragmas);
    int cuts = 0, whole = 0;
    for (int cut = 2; cut <= commands; cut++) {  // opening the drive takes one
        for (int after = 0; after < 2; after++) {
            fresh(500, parameters, pragmas);
            model.cut_at = cut;
            model.after = after;
            const int did = steps();
            CHECK(model.off || did == STEPS);
            shut();
            model_restart((unsigned)(cut * 7 + after));
            CHECK(!try_open(parameters) && sound());
            CHECK(one_of(relaxed ? 0 : did, did + 1));
            whole += !strcmp(now(), wanted[did < STEPS ? did + 1 : STEPS]);
            CHECK(!run("CREATE TABLE again(x); INSERT INTO again VALUES(1)") && sound());
            shut();
            cuts++;
        }
    }
    CHECK(cuts > 50 && (relaxed || (whole > 10 && whole < cuts)));
}

static void each_power_cut_leaves_the_last_commit_or_the_one_under_way(void) { cut_everywhere("", "", false); }

static void the_same_when_transactions_do_not_fit_into_the_cache(void) {
    cut_everywhere("", "PRAGMA cache_size=2; PRAGMA temp_store=memory", false);
}

static void the_same_with_each_journal_mode_and_without_sync(void) {
    cut_everywhere("", "PRAGMA journal_mode=truncate; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA journal_mode=persist; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA journal_mode=memory; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA synchronous=off; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA locking_mode=exclusive; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA auto_vacuum=full", false);
}

static void the_same_with_each_page_size(void) {
    cut_everywhere("", "PRAGMA page_size=512; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA page_size=1024", false);
    cut_everywhere("", "PRAGMA page_size=8192; PRAGMA cache_size=2", false);
    cut_everywhere("", "PRAGMA page_size=65536", false);
}

static void relaxed_commits_survive_up_to_one_of_them(void) {
    cut_everywhere("&relaxed=1", "", true);
    cut_everywhere("&relaxed=1", "PRAGMA auto_vacuum=full; PRAGMA cache_size=2", true);
    fresh(500, "&relaxed=1", "");
    CHECK(!run(work[0]) && model.flushes == 0);
    model.off = true;
    shut();
    model_restart(0);  // which keeps as little as it may
    CHECK(!try_open("&relaxed=1") && is("SELECT count(*) FROM sqlite_schema", "0"));
    CHECK(!run(work[0]) && !run(work[1]) && model.flushes == 0);
    CHECK(!run("PRAGMA otx_flush") && model.flushes == 1);
    model.off = true;
    shut();
    model_restart(0);
    CHECK(!try_open("") && is("SELECT count(*) FROM t", "1"));
    shut();
}

// Each command in turn is refused: the SQL that fails has changed nothing, the others hold.
static void refuse_everywhere(int status, bool after, const char *pragmas) {
    enum { ROUNDS = 6 };
    int refused = 0, reopened = 0, commands = 2;
    for (int fail = 2; fail <= commands; fail++) {
        int there = 0, unsure = 0, again = 0;
        fresh(500, "", pragmas);
        model.reads_count = true;
        model.fail_at = fail;
        model.after = after;
        model.status = status;
        for (int k = 0; k <= ROUNDS; k++) {
            char sql[300], query[100], found[20];
            snprintf(
                sql, sizeof sql,
                k ? "BEGIN; INSERT INTO t VALUES(%d, zeroblob(9000)); INSERT INTO t VALUES(%d, zeroblob(9000)); COMMIT"
                  : "CREATE TABLE IF NOT EXISTS t(k, body)",
                k, k);
            const bool good = !run(sql);
            if (!good && !sqlite3_get_autocommit(db)) run("ROLLBACK");
            snprintf(query, sizeof query, "SELECT count(*) FROM t WHERE k = %d", k);
            if (!good && strstr(text("PRAGMA otx_status"), "nobody knows")) {
                shut();
                CHECK(!try_open(""));
                reopened++;
                unsure = k;
            }
            refused += !good;
            if (!good && !k) k--, again++;  // there must be a table
            CHECK(again < 5);
            if (k < 1) continue;
            snprintf(found, sizeof found, "%s", text(query));
            if (!strcmp(found, "error")) snprintf(found, sizeof found, "%s", text(query));  // the one refused
            CHECK(!strcmp(found, good ? "2" : "0") || (unsure == k && !strcmp(found, "2")));
            there += atoi(found);
        }
        char all[20];
        snprintf(all, sizeof all, "%d", there);
        model.fail_at = 0;
        CHECK(is("SELECT count(*) FROM t", all) && sound());
        if (model.commands > commands) commands = model.commands;
        shut();
        model.off = true;
        model_restart((unsigned)fail);
        CHECK(!try_open("") && is("SELECT count(*) FROM t", all) && sound() && !model_open_transactions());
        shut();
        if (commands > 400) commands = 400;
    }
    CHECK(refused > 5 && (!after || reopened > 0));
}

static void a_transaction_of_which_a_command_is_refused_has_changed_nothing(void) {
    refuse_everywhere(OTX_STATUS_WRITE_FAULT, false, "");
    refuse_everywhere(OTX_STATUS_CAPACITY, false, "");
    refuse_everywhere(OTX_STATUS_TX_BUSY, false, "");
    refuse_everywhere(OTX_STATUS_WRITE_FAULT, false, "PRAGMA cache_size=2");
}

// Also in the batch of a COMMIT: SQLite tries that again without what went to the drive before it.
static void a_command_that_fails_drops_what_went_before_the_batch_too(void) {
    int refused = 0;
    for (int fail = 1;; fail++) {
        fresh(500, "", "PRAGMA journal_mode=memory; PRAGMA cache_size=3");
        CHECK(!run("CREATE TABLE t(n INTEGER PRIMARY KEY, k UNIQUE, body)"));
        model.reads_count = true;
        model.fail_at = model.commands + fail;
        model.status = fail % 2 ? OTX_STATUS_MEDIA_ERROR : OTX_STATUS_WRITE_FAULT;
        const bool good = !run("WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM c WHERE v < 40) "
                               "INSERT INTO t(k, body) SELECT v, zeroblob(1500) FROM c");
        const bool all = model.commands < model.fail_at;
        model.fail_at = 0;
        refused += !good;
        CHECK(sound() && is("SELECT count(*) FROM t", good ? "40" : "0") && !run("INSERT INTO t(k) VALUES(99)"));
        model.off = true;
        shut();
        model_restart(0);
        CHECK(!try_open("") && sound() && is("SELECT count(*) FROM t", good ? "41" : "1"));
        shut();
        if (all) break;
    }
    CHECK(refused > 5);
}

static void after_a_commit_of_which_nobody_knows_the_database_is_opened_again(void) {
    refuse_everywhere(OTX_STATUS_WRITE_FAULT, true, "");
}

static const char many[] = "CREATE TABLE t(n INTEGER PRIMARY KEY, body UNIQUE); WITH RECURSIVE c(v) AS (SELECT 1 UNION "
                           "ALL SELECT v + 1 FROM c WHERE v < 20) INSERT INTO t(body) SELECT randomblob(900) FROM c";

static void a_rollback_without_a_journal_takes_everything_back(void) {
    static const char *const locking[] = {"PRAGMA locking_mode=normal", "PRAGMA locking_mode=exclusive"};
    for (int i = 0; i < 2; i++) {
        fresh(500, "", "PRAGMA journal_mode=off; PRAGMA cache_size=2");
        CHECK(!run(locking[i]) && !run(many));
        const struct model_drive before = model;
        CHECK(!run(
            "BEGIN; DELETE FROM t WHERE n % 2; UPDATE t SET body = n; INSERT INTO t(body) VALUES(zeroblob(50000))"));
        CHECK(model.writes > before.writes + 3);  // it did not fit into the cache
        run("ROLLBACK");
        CHECK(is("SELECT count(*) || ' ' || sum(length(body)) FROM t", "20 18000") && sound());
        CHECK(!run("INSERT INTO t(body) VALUES('x')") && model_open_transactions() == 0);
        model.off = true;
        shut();
        model_restart(0);
        CHECK(!try_open("") && is("SELECT count(*) || ' ' || sum(length(body)) FROM t", "21 18001") && sound());
        shut();
    }
}

// The pager makes the file shorter when the COMMIT is over, in a transaction of its own.
static void a_commit_holds_though_the_file_cannot_be_made_shorter(void) {
    for (int gone = 0; gone < 2; gone++) {
        int behind = 0, at, commands;
        for (int fail = 1;; fail++) {
            fresh(500, "", "PRAGMA auto_vacuum=full");
            CHECK(!run(many) && !run("CREATE TABLE u AS SELECT zeroblob(200000) AS z"));
            const int commits = model.commits;
            at = model.commands + fail;
            model.status = OTX_STATUS_WRITE_FAULT;
            *(gone ? &model.cut_at : &model.fail_at) = at;
            const bool good = !run("DROP TABLE u");
            CHECK(good == (model.commits > commits));
            const char *const tables = good ? "2" : "3";
            commands = model.commands;
            behind += good && gone && commands >= at;
            if (!gone)
                CHECK(is("SELECT count(*) FROM sqlite_schema", tables) && sound() &&
                      !run("DELETE FROM t WHERE n > 10"));
            model.off = true;
            shut();
            model_restart((unsigned)fail);
            CHECK(!try_open("") && is("SELECT count(*) FROM t", gone ? "20" : "10") && sound());
            CHECK(is("SELECT count(*) FROM sqlite_schema", tables) && !run("VACUUM") && sound());
            shut();
            if (commands < at) break;
        }
        CHECK(!gone || behind > 1);
    }
}

// Its first page would say that it can be opened only by who has WAL.
static void a_copy_of_a_database_in_wal_mode_is_refused_and_one_of_another_is_not(void) {
    char folder[] = "/tmp/otx_sqlite_XXXXXX", path[60];
    sqlite3 *from;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/db", folder);
    CHECK(!sqlite3_open(path, &from));
    CHECK(!sqlite3_exec(from, "PRAGMA journal_mode=wal; CREATE TABLE w AS SELECT 5 AS x", NULL, NULL, NULL));
    fresh(500, "", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    for (int wal = 1; wal >= 0; wal--) {
        if (!wal) CHECK(!sqlite3_exec(from, "PRAGMA journal_mode=delete", NULL, NULL, NULL));
        sqlite3_backup *copy = sqlite3_backup_init(db, "main", from, "main");
        const int rc = sqlite3_backup_step(copy, -1);
        CHECK(wal ? rc != SQLITE_DONE && strstr(text("PRAGMA otx_status"), "WAL") : rc == SQLITE_DONE);
        sqlite3_backup_finish(copy);
        for (int again = 0; again < 2; again++) {
            CHECK(is(wal ? "SELECT x FROM t" : "SELECT x FROM w", wal ? "1" : "5") && sound());
            shut();
            CHECK(!try_open(""));
        }
    }
    shut();
    sqlite3_close(from);
    unlink(path), rmdir(folder);
    // PRAGMA of a connection whose main database is elsewhere
    fresh(500, "", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    shut();
    CHECK(!sqlite3_open(":memory:", &db) && !run("ATTACH 'file:model?vfs=model' AS o; PRAGMA locking_mode=exclusive"));
    CHECK(is("SELECT x FROM o.t", "1"));
    run("PRAGMA journal_mode=wal");
    shut();
    CHECK(!try_open("") && is("SELECT x FROM t", "1") && !run("INSERT INTO t VALUES(2)") && sound());
    shut();
}

static int batches(void) { return atoi(strstr(text("PRAGMA otx_status"), "batches") + 8); }

static void one_insert_is_one_transaction_that_writes_each_page_once(void) {
    fresh(500, "", "CREATE TABLE t(n INTEGER PRIMARY KEY, body); INSERT INTO t(body) VALUES('first')");
    for (int i = 0; i < 5; i++) {
        const struct model_drive before = model;
        const int before_batches = batches();
        CHECK(!run("INSERT INTO t(body) VALUES('one more')"));
        // two pages one beside the other (the header and the leaf): one write, which commits
        CHECK(model.begins - before.begins == 1 && model.writes - before.writes == 1);
        CHECK(batches() == before_batches + 1);
        CHECK(model.commits - before.commits == 1 && model.flushes == before.flushes && model.aborts == before.aborts);
    }
    shut();
}

static void nothing_but_the_database_is_on_the_drive(void) {
    static const uint8_t zeroes[OTX_BLOCK];
    fresh(500, "&first=100&blocks=300", "PRAGMA cache_size=2");
    CHECK(steps() == STEPS);
    CHECK(!run("CREATE TEMP TABLE x AS SELECT * FROM t; SELECT * FROM t ORDER BY body, k"));
    const int pages = atoi(text("PRAGMA page_count"));
    CHECK(!memcmp(model_block(100), "OTXSQLDB", 8) && !memcmp(model_block(101), "SQLite format 3", 16));
    for (uint32_t lba = 0; lba < MODEL_LBAS; lba++)
        if (lba < 100 || lba > 100 + (uint32_t)pages) CHECK(!memcmp(model_block(lba), zeroes, OTX_BLOCK));
    shut();
}

static void a_transaction_sees_its_own_pages_and_a_rollback_takes_them_back(void) {
    fresh(500, "", "PRAGMA cache_size=2; CREATE TABLE t(n INTEGER PRIMARY KEY, body); INSERT INTO t(body) VALUES('x')");
    const struct model_drive before = model;
    CHECK(!run("BEGIN; WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM c WHERE v < 200) "
               "INSERT INTO t(body) SELECT zeroblob(900) FROM c; UPDATE t SET body = n || ' new'"));
    CHECK(model.writes > before.writes && model_open_transactions() == 1);
    CHECK(is("SELECT sum(body = n || ' new') FROM t", "201") && sound());
    CHECK(!run("ROLLBACK") && model_open_transactions() == 0);
    CHECK(is("SELECT count(*) || body FROM t", "1x") && sound());
    CHECK(!run("BEGIN; UPDATE t SET body = 'y'; COMMIT") && is("SELECT body FROM t", "y"));
    shut();
}

static void what_is_written_and_not_sent_is_read(void) {
    enum { bytes = 5 * OTX_BLOCK };
    static uint8_t data[bytes], back[bytes];
    struct otx_port port;
    struct store s;
    model_new(500);
    CHECK(!model_open("model", &port, NULL, 0) && !store_open(&s, &port, 7, 100, 3));
    for (int i = 0; i < bytes; i++) data[i] = (uint8_t)(i % 251);
    CHECK(!store_write(&s, data, bytes, 0) && !store_write(&s, data, 100, 9000) && model.writes == 0);
    memcpy(data + 9000, data, 100);
    CHECK(!store_read(&s, back, bytes, 0) && !memcmp(back, data, bytes));
    CHECK(!store_read(&s, back, 9000, 3000) && !memcmp(back, data + 3000, 9000));
    CHECK(!store_commit(&s) && !store_read(&s, back, bytes, 0) && !memcmp(back, data, bytes));
    CHECK(!store_write(&s, data, 9000, 77) && !store_abort(&s) && s.size == bytes);
    CHECK(!store_read(&s, back, bytes, 0) && !memcmp(back, data, bytes));
    store_close(&s);
}

static void after_a_write_that_failed_all_fails_until_somebody_knows(void) {
    static uint8_t data[40 * OTX_BLOCK];
    struct otx_port port;
    struct store s;
    model_new(500);
    CHECK(!model_open("model", &port, NULL, 0) && !store_open(&s, &port, 0, 100, 3));
    CHECK(!store_write(&s, data, OTX_BLOCK, 0) && !store_commit(&s));
    model.fail_at = model.commands + 2;  // behind BEGIN
    model.status = OTX_STATUS_WRITE_FAULT;
    CHECK(store_write(&s, data, sizeof data, 0) == OTX_STATUS_WRITE_FAULT && !model_open_transactions());
    CHECK(store_write(&s, data, OTX_BLOCK, 0) == STORE_DROPPED && store_commit(&s) == STORE_DROPPED);
    CHECK(store_truncate(&s, 0) == STORE_DROPPED && store_read(&s, data, 1, 0) == STORE_DROPPED);
    CHECK(!store_abort(&s) && s.size == OTX_BLOCK && !store_write(&s, data, sizeof data, 0) && !store_commit(&s));
    CHECK(s.size == sizeof data);
    store_close(&s);
}

static void a_transaction_of_too_many_blocks_is_full_and_nothing_remains(void) {
    static const char *const pragmas[] = {"", "PRAGMA cache_size=2", "PRAGMA synchronous=off"};
    for (int i = 0; i < 3; i++) {
        fresh(20, "", pragmas[i]);
        CHECK(!run("CREATE TABLE t(body); INSERT INTO t VALUES('x')"));
        CHECK(run("INSERT INTO t VALUES(zeroblob(200000))") == SQLITE_FULL &&
              strstr(text("PRAGMA otx_status"), "no room"));
        CHECK(model_open_transactions() == 0 && is("SELECT count(*) FROM t", "1") && sound());
        CHECK(!run("INSERT INTO t VALUES(zeroblob(30000))") && is("SELECT count(*) FROM t", "2") && sound());
        CHECK(run("BEGIN; UPDATE t SET body = 'z'; INSERT INTO t VALUES(zeroblob(90000)); COMMIT") == SQLITE_FULL);
        run("ROLLBACK");
        CHECK(is("SELECT sum(body = 'z') FROM t", "0") && is("SELECT count(*) FROM t", "2") && sound());
        shut();
        model_restart(0);
        CHECK(!try_open("") && is("SELECT count(*) FROM t", "2") && sound());
        shut();
    }
}

static void a_full_area_is_full(void) {
    fresh(500, "&first=10&blocks=30", "");
    CHECK(!run("CREATE TABLE t(body); INSERT INTO t VALUES(zeroblob(50000))"));
    CHECK(run("INSERT INTO t VALUES(zeroblob(90000))") == SQLITE_FULL && is("SELECT count(*) FROM t", "1") && sound());
    shut();
}

// A COMMIT that changes a database of another VFS too, whose super-journal is a file.
static void refuse_beside_a_file(void) {
    char folder[] = "/tmp/otx_sqlite_XXXXXX", path[60], uri[100];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/db", folder);
    snprintf(uri, sizeof uri, "file:%s?vfs=unix", path);
    CHECK(!sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL));
    CHECK(!run("CREATE TABLE f(x); ATTACH 'file:other?vfs=model&first=300&txid=3' AS o"));
    const int rc = run("BEGIN; INSERT INTO f VALUES(1); INSERT INTO o.t VALUES(2); COMMIT");
    if (!sqlite3_get_autocommit(db)) run("ROLLBACK");
    const bool same = is("SELECT count(*) FROM f", "0") && is("SELECT count(*) FROM o.t", "1");
    shut();
    unlink(path), rmdir(folder);
    CHECK(rc && same);
}

static void what_is_not_to_be_had_is_refused(void) {
    fresh(500, "", "CREATE TABLE t(body)");
    CHECK(run("PRAGMA journal_mode=wal") == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "WAL"));
    CHECK(!run("PRAGMA locking_mode=exclusive") && run("PRAGMA journal_mode=wal") == SQLITE_ERROR);
    CHECK(!run("PRAGMA page_size=1024; VACUUM") && is("PRAGMA page_size", "4096"));
    shut();
    CHECK(!try_open("") && !run("ATTACH 'file:other?vfs=model&first=300&txid=3' AS o; CREATE TABLE o.t(body)"));
    CHECK(run("BEGIN; INSERT INTO main.t VALUES(1); INSERT INTO o.t VALUES(1); COMMIT") != SQLITE_OK);
    run("ROLLBACK");
    CHECK(is("SELECT count(*) FROM main.t", "0") && is("SELECT count(*) FROM o.t", "0"));
    CHECK(!run("INSERT INTO main.t VALUES(1)") && !run("INSERT INTO o.t VALUES(1)"));
    shut();
    refuse_beside_a_file();
    CHECK(try_open("&txid=32") == SQLITE_CANTOPEN);
    shut();
    CHECK(try_open("&first=400") == SQLITE_CANTOPEN);
    shut();
    CHECK(try_open("&first=300&blocks=101") == SQLITE_CANTOPEN);
    shut();
    CHECK(sqlite3_open_v2("file:m?vfs=model&first=200", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) ==
          SQLITE_CANTOPEN);
    shut();
    CHECK(!sqlite3_open_v2("file:m?vfs=model", &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL));
    CHECK(is("SELECT count(*) FROM t", "1") && run("INSERT INTO t VALUES(2)") == SQLITE_READONLY);
    shut();
}

static void a_drive_with_something_else_on_it_is_left_as_it_is(void) {
    struct otx_port port;
    uint8_t block[OTX_BLOCK] = {0};
    model_new(500);
    CHECK(!model_open("model", &port, NULL, 0));
    block[1080] = 0x53;  // as ext4 has it
    CHECK(!port.methods->write(NULL, 0, 1, block, -1, 0));
    const int writes = model.writes;
    try_open("");
    CHECK(run("CREATE TABLE t(x)") == SQLITE_NOTADB || sqlite3_errcode(db) == SQLITE_NOTADB);
    CHECK(model.writes == writes && !memcmp(model_block(0), block, OTX_BLOCK));
    shut();
}

static void a_database_is_of_one_connection_at_a_time(void) {
    sqlite3 *first;
    fresh(500, "&blocks=100", "");
    shut();
    model.identity = "of this test";
    CHECK(!try_open("&blocks=100") && !run("CREATE TABLE t(x)"));
    first = db;
    CHECK(try_open("&blocks=100&txid=3") == SQLITE_BUSY);
    shut();
    CHECK(try_open("&first=100") == SQLITE_BUSY);
    shut();
    CHECK(!try_open("&first=100&txid=3") && !run("CREATE TABLE u(x)"));
    shut();
    sqlite3_close(first);
    CHECK(!try_open("&blocks=100&txid=3") && is("SELECT name FROM sqlite_schema", "t"));
    shut();
}

static void what_a_process_that_died_left_open_is_aborted(void) {
    struct otx_port port;
    uint8_t block[OTX_BLOCK] = {1};
    fresh(500, "", "CREATE TABLE t(x)");
    shut();
    CHECK(!model_open("model", &port, NULL, 0) && !port.methods->begin(NULL, 31));
    CHECK(!port.methods->write(NULL, 1, 1, block, 31, 0) && model_open_transactions() == 1);
    CHECK(!try_open("") && model_open_transactions() == 0 && !run("INSERT INTO t VALUES(1)") && sound());
    shut();
}

static const struct check_test tests[] = {
    TEST(one_insert_is_one_transaction_that_writes_each_page_once),
    TEST(nothing_but_the_database_is_on_the_drive),
    TEST(a_transaction_sees_its_own_pages_and_a_rollback_takes_them_back),
    TEST(what_is_written_and_not_sent_is_read),
    TEST(after_a_write_that_failed_all_fails_until_somebody_knows),
    TEST(a_transaction_of_too_many_blocks_is_full_and_nothing_remains),
    TEST(a_full_area_is_full),
    TEST(what_is_not_to_be_had_is_refused),
    TEST(a_drive_with_something_else_on_it_is_left_as_it_is),
    TEST(a_database_is_of_one_connection_at_a_time),
    TEST(what_a_process_that_died_left_open_is_aborted),
    TEST(each_power_cut_leaves_the_last_commit_or_the_one_under_way),
    TEST(the_same_when_transactions_do_not_fit_into_the_cache),
    TEST(the_same_with_each_journal_mode_and_without_sync),
    TEST(the_same_with_each_page_size),
    TEST(relaxed_commits_survive_up_to_one_of_them),
    TEST(a_transaction_of_which_a_command_is_refused_has_changed_nothing),
    TEST(after_a_commit_of_which_nobody_knows_the_database_is_opened_again),
    TEST(a_command_that_fails_drops_what_went_before_the_batch_too),
    TEST(a_rollback_without_a_journal_takes_everything_back),
    TEST(a_commit_holds_though_the_file_cannot_be_made_shorter),
    TEST(a_copy_of_a_database_in_wal_mode_is_refused_and_one_of_another_is_not),
};

static void logged(void *context, int rc, const char *words) {
    if (context) fprintf(stderr, "(%d) %s\n", rc, words);
}

int main(int argc, char **argv) {
    sqlite3_config(SQLITE_CONFIG_LOG, logged, getenv("LOG"));
    if (otx_sqlite_register("model", model_open, 0)) return 2;
    return check_run(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);
}
