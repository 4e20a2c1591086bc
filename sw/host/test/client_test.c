// SPDX-License-Identifier: Apache-2.0
// libotx against drives that answer as they should and as they should not.
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "fake_drive.h"
#include "otx.h"

static uint8_t buffer[OTX_WIRE_MAX_BLOCKS * OTX_BLOCK], sent[sizeof buffer];
static struct otx_wire_command seen;
static int how, greeting_flags, too_many;

static struct otx_drive *connected(void (*serve)(int fd)) {
    struct otx_drive *drive = NULL;
    fake_start(serve);
    if (otx_connect(fake_path(), false, &drive, NULL, 0)) abort();
    return drive;
}

static void finish(struct otx_drive *drive) {
    otx_disconnect(drive);
    fake_end();
}

// Answers every command with status `how` and keeps the last one.
static void echo(int fd) {
    for (;;) {
        seen = fake_take(fd, sent);
        uint32_t blocks = seen.opcode == OTX_OP_READ && !how ? 1u << (seen.count - 1) : 0;
        fake_answer(fd, seen.id, how, seen.arg + 1, blocks, buffer, blocks ? seen.count * (size_t)OTX_BLOCK : 0);
    }
}

static void the_greeting_says_what_the_drive_is(void) {
    struct otx_drive *drive = connected(echo);
    const struct otx_about *about = otx_about(drive);
    CHECK(about->lbas == 250 && about->tx_entries == 100 && about->clock_ps == 10000 && about->clock == 77);
    CHECK(!strcmp(about->preset, "fake"));
    CHECK(otx_ns(drive, 123) == 1230 && otx_ns(drive, 1ull << 50) == 10ull << 50);
    finish(drive);
}

static void keep_greeting(int fd) {
    uint8_t bytes[OTX_WIRE_HELLO];
    struct otx_wire_hello hello = {OTX_WIRE_VERSION, 250, 100, 10000, OTX_WIRE_UNDER_WAY, 77, "fake"};
    otx_wire_put_hello(bytes, &hello);
    fake_send(fd, bytes, sizeof bytes);
    fake_receive(fd, bytes, OTX_WIRE_GREETING);
    greeting_flags = memcmp(bytes, OTX_WIRE_CLIENT_MAGIC, 8) ? -1 : (int)otx_wire_get(bytes + 12, 4);
}

static void keep_is_said_in_the_greeting(void) {
    struct otx_drive *drive = NULL;
    for (int keep = 0; keep < 2; keep++) {
        fake_start_silent(keep_greeting);
        CHECK(!otx_connect(fake_path(), keep, &drive, NULL, 0));
        finish(drive);
        CHECK(greeting_flags == keep * OTX_WIRE_KEEP);
    }
}

static void every_option_reaches_the_drive(void) {
    struct otx_options all = {.in_tx = true,
                              .txid = 31,
                              .fua = true,
                              .commit = true,
                              .relaxed = true,
                              .barrier = true,
                              .orderless = true,
                              .order = OTX_HEAD_OF_QUEUE,
                              .priority = 3,
                              .stream = 0xabcd};
    struct otx_drive *drive = connected(echo);
    for (size_t i = 0; i < sizeof buffer; i++) buffer[i] = (uint8_t)(i * 7 + i / OTX_BLOCK);
    CHECK(!otx_write(drive, 0x12345678, 32, buffer, &all));
    CHECK(seen.opcode == OTX_OP_WRITE && seen.lba == 0x12345678 && seen.count == 32 && seen.stream == 0xabcd);
    CHECK(seen.txid == 31 && seen.flags == OTX_WIRE_FLAGS && seen.order == 2 && seen.priority == 3 && !seen.rest);
    CHECK(!memcmp(sent, buffer, sizeof buffer));
    // each alone is its own bit
    const struct otx_options one[] = {{.in_tx = true},   {.fua = true},     {.commit = true},
                                      {.relaxed = true}, {.barrier = true}, {.orderless = true}};
    for (int i = 0; i < 6; i++) {
        CHECK(!otx_trim(drive, 1, 1, &one[i]));
        CHECK(seen.opcode == OTX_OP_TRIM && seen.flags == 1 << i);
    }
    finish(drive);
}

static void every_call_is_its_command(void) {
    struct otx_drive *drive = connected(echo);
    uint32_t result, delivered;
    CHECK(!otx_read(drive, 9, 2, sent, NULL, &delivered) && seen.opcode == OTX_OP_READ && seen.lba == 9);
    CHECK(delivered == 2 && seen.count == 2 && seen.flags == 0);
    CHECK(!otx_write_zeroes(drive, 9, 2, NULL) && seen.opcode == OTX_OP_WRITE_ZEROES && seen.count == 2);
    CHECK(!otx_flush(drive) && seen.opcode == OTX_OP_FLUSH);
    CHECK(!otx_barrier(drive) && seen.opcode == OTX_OP_BARRIER);
    CHECK(!otx_recover(drive) && seen.opcode == OTX_OP_RECOVER);
    CHECK(!otx_rflush(drive, 5, 100) && seen.opcode == OTX_OP_RFLUSH && seen.lba == 5 && seen.count == 100);
    CHECK(seen.arg == 0);
    CHECK(!otx_rflush_stream(drive, 77) && seen.opcode == OTX_OP_RFLUSH && seen.stream == 77 && seen.arg == 1);
    CHECK(!otx_begin(drive, 3) && seen.opcode == OTX_OP_BEGIN && seen.txid == 3 && seen.flags == OTX_WIRE_HAS_TX);
    CHECK(!otx_abort(drive, 4) && seen.opcode == OTX_OP_ABORT && seen.txid == 4 && seen.flags == OTX_WIRE_HAS_TX);
    CHECK(!otx_prepare(drive, 5) && seen.opcode == OTX_OP_PREPARE && seen.txid == 5);
    CHECK(!otx_commit(drive, 6, false) && seen.opcode == OTX_OP_COMMIT && seen.flags == OTX_WIRE_HAS_TX);
    CHECK(!otx_commit(drive, 6, true) && seen.flags == (OTX_WIRE_HAS_TX | OTX_WIRE_RELAXED));
    CHECK(!otx_query(drive, OTX_QUERY_CAPACITY, -1, &result) && result == OTX_QUERY_CAPACITY + 1 && !seen.flags);
    CHECK(!otx_query(drive, OTX_QUERY_TX, 7, &result) && seen.txid == 7 && seen.flags == OTX_WIRE_HAS_TX);
    finish(drive);
}

static void a_status_is_returned_with_its_words(void) {
    struct otx_drive *drive = connected(echo);
#define ONE(name, number, words, posix)                       \
    how = number;                                             \
    CHECK(otx_flush(drive) == number);                        \
    CHECK(number == 0 || !strcmp(otx_message(drive), words)); \
    CHECK(!strcmp(otx_words(number), words));
    OTX_STATUSES(ONE)
    how = 0;
    CHECK(!otx_flush(drive));
    for (int e = OTX_ERROR_TIMEOUT; e < 0; e++) CHECK(strcmp(otx_words(e), "unknown status"));
    CHECK(!strcmp(otx_words(99), "unknown status"));
    finish(drive);
}

// Takes three commands and answers the third, the first, the second.
static void turned(int fd) {
    struct otx_wire_command c[3];
    for (int i = 0; i < 3; i++) c[i] = fake_take(fd, sent);
    fake_answer(fd, c[2].id, 3, 2, 0, NULL, 0);
    fake_answer(fd, c[0].id, 0, 0, 3, buffer, 2 * OTX_BLOCK);
    fake_answer(fd, c[1].id, 0, 1, 0, NULL, 0);
    echo(fd);
}

static void answers_come_in_the_order_of_the_drive_with_the_ids_of_the_caller(void) {
    struct otx_drive *drive = connected(turned);
    static uint8_t place[2 * OTX_BLOCK];
    struct otx_answer a;
    memset(buffer, 0x5a, sizeof buffer);
    struct otx_request r = {.opcode = OTX_OP_READ, .count = 2, .read = place, .id = 1ull << 40};
    CHECK(!otx_send(drive, &r));
    r = (struct otx_request){.opcode = OTX_OP_FLUSH, .id = 1ull << 40};  // the same number twice
    CHECK(!otx_send(drive, &r));
    r.id = 5;
    CHECK(!otx_send(drive, &r) && otx_under_way(drive) == 3);
    CHECK(!otx_take(drive, &a, -1) && a.id == 5 && a.status == 3 && a.result == 2 && a.clock == 100);
    CHECK(!otx_take(drive, &a, -1) && a.id == 1ull << 40 && a.blocks == 3 && a.clock == 101);
    CHECK(place[0] == 0x5a && place[sizeof place - 1] == 0x5a);
    CHECK(!otx_take(drive, &a, -1) && a.result == 1 && otx_last_clock(drive) == 102);
    CHECK(a.begun == 7 && otx_last_took(drive) == 95);
    CHECK(!otx_under_way(drive) && otx_take(drive, &a, -1) == OTX_ERROR_ARGUMENT);
    finish(drive);
}

static void a_call_that_waits_keeps_the_answers_of_others(void) {
    struct otx_drive *drive = connected(turned);
    struct otx_request r = {.opcode = OTX_OP_READ, .count = 2, .read = buffer, .id = 1};
    struct otx_answer a;
    CHECK(!otx_send(drive, &r));
    r = (struct otx_request){.opcode = OTX_OP_FLUSH, .id = 2};
    CHECK(!otx_send(drive, &r));
    CHECK(otx_barrier(drive) == 3);  // answered first
    CHECK(!otx_flush(drive));        // answered last
    CHECK(!otx_take(drive, &a, -1) && a.id == 1);
    CHECK(!otx_take(drive, &a, -1) && a.id == 2 && !otx_under_way(drive));
    finish(drive);
}

static void thirty_two(int fd) {
    struct otx_wire_command c[OTX_UNDER_WAY];
    for (int i = 0; i < OTX_UNDER_WAY; i++) c[i] = fake_take(fd, sent);
    usleep(20000);
    too_many = recv(fd, sent, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    for (int i = OTX_UNDER_WAY; i--;) fake_answer(fd, c[i].id, 0, (uint32_t)i, 0, NULL, 0);
    echo(fd);
}

static void thirty_two_commands_are_under_way_and_no_more(void) {
    struct otx_drive *drive = connected(thirty_two);
    struct otx_request r = {.opcode = OTX_OP_FLUSH};
    struct otx_answer a;
    for (r.id = 0; r.id < OTX_UNDER_WAY; r.id++) CHECK(!otx_send(drive, &r));
    CHECK(otx_send(drive, &r) == OTX_ERROR_FULL);
    CHECK(!otx_flush(drive) && !too_many);  // when one of them has an answer
    CHECK(otx_send(drive, &r) == OTX_ERROR_FULL);
    for (uint64_t i = OTX_UNDER_WAY; i--;) CHECK(!otx_take(drive, &a, -1) && a.id == i && a.result == i);
    CHECK(!otx_send(drive, &r) && !otx_take(drive, &a, -1));
    finish(drive);
}

static void wrong_arguments_are_not_sent(void) {
    struct otx_drive *drive = connected(echo);
    CHECK(otx_write(drive, 0, 1, NULL, NULL) == OTX_ERROR_ARGUMENT);
    CHECK(otx_read(drive, 0, 1, NULL, NULL, NULL) == OTX_ERROR_ARGUMENT);
    CHECK(otx_trim(drive, 0, 65536, NULL) == OTX_ERROR_ARGUMENT);
    uint32_t result;
    CHECK(otx_query(drive, 0, 256, &result) == OTX_ERROR_ARGUMENT);
    CHECK(!otx_write(drive, 0, 33, NULL, NULL));  // the drive says what it thinks of it
    CHECK(seen.count == 33 && seen.bytes == OTX_WIRE_HEADER);
    finish(drive);
}

static sem_t may_go;

static void nothing(int fd) {
    fake_take(fd, sent);
    sem_wait(&may_go);
}

static void a_drive_that_goes_ends_the_call(void) {
    sem_init(&may_go, 0, 0);
    struct otx_drive *drive = connected(nothing);
    struct otx_request r = {.opcode = OTX_OP_FLUSH};
    struct otx_answer a;
    CHECK(!otx_send(drive, &r));
    CHECK(otx_take(drive, &a, 20) == OTX_ERROR_TIMEOUT);
    sem_post(&may_go);
    fake_end();
    CHECK(otx_take(drive, &a, -1) == OTX_ERROR_CLOSED);
    CHECK(otx_flush(drive) == OTX_ERROR_CLOSED && otx_send(drive, &r) == OTX_ERROR_CLOSED);
    otx_disconnect(drive);
}

static void leave_with_words(int fd) {
    uint8_t header[OTX_WIRE_ANSWER_HEADER];
    fake_take(fd, sent);
    struct otx_wire_answer a = {.bytes = OTX_WIRE_ANSWER_HEADER + 7, .kind = OTX_WIRE_LAST_WORDS};
    otx_wire_put_answer(header, &a);
    fake_send(fd, header, sizeof header);
    fake_send(fd, "go away", 7);
}

static void last_words_are_the_message(void) {
    struct otx_drive *drive = connected(leave_with_words);
    CHECK(otx_flush(drive) == OTX_ERROR_CLOSED && !strcmp(otx_message(drive), "go away"));
    finish(drive);
}

// What is no answer of a drive, by `how`.
static void lie(int fd) {
    uint8_t header[OTX_WIRE_ANSWER_HEADER];
    struct otx_wire_command c = fake_take(fd, sent);
    struct otx_wire_answer a = {.bytes = OTX_WIRE_ANSWER_HEADER, .id = c.id};
    size_t size = sizeof header;
    if (how == 0) a.id = 1000;
    if (how == 1) a.id = c.id + 1;
    if (how == 2) a.kind = 9;
    if (how == 3) a.bytes = 39;
    if (how == 4) a.bytes = OTX_WIRE_ANSWER_HEADER + 4096;
    if (how == 5) a.bytes = 0xffffffff;
    if (how == 6) a.kind = OTX_WIRE_LAST_WORDS, a.bytes = OTX_WIRE_ANSWER_HEADER + 201;
    if (how == 7) size = 20;
    if (how == 8) a.kind = OTX_WIRE_LAST_WORDS, a.bytes = OTX_WIRE_ANSWER_HEADER + 10;
    otx_wire_put_answer(header, &a);
    fake_send(fd, header, size);
}

static void what_is_no_answer_ends_the_connection(void) {
    for (how = 0; how < 9; how++) {
        struct otx_drive *drive = connected(lie);
        int error = otx_flush(drive);
        fake_end();
        CHECK(error == (how < 7 ? OTX_ERROR_PROTOCOL : OTX_ERROR_CLOSED));
        CHECK(otx_flush(drive) == error && strlen(otx_message(drive)) > 5);
        otx_disconnect(drive);
    }
    how = 0;
}

static void twice(int fd) {
    struct otx_wire_command c = fake_take(fd, sent);
    fake_take(fd, sent);
    fake_answer(fd, c.id, 0, 0, 0, NULL, 0);
    fake_answer(fd, c.id, 0, 0, 0, NULL, 0);
}

static void a_second_answer_to_a_command_ends_the_connection(void) {
    struct otx_drive *drive = connected(twice);
    struct otx_request r = {.opcode = OTX_OP_FLUSH};
    CHECK(!otx_send(drive, &r) && otx_flush(drive) == OTX_ERROR_PROTOCOL);
    finish(drive);
}

static void wrong_greeting(int fd) {
    uint8_t bytes[OTX_WIRE_HELLO];
    struct otx_wire_hello hello = {how == 1 ? 2 : OTX_WIRE_VERSION,   250, 100, how == 2 ? 0 : 10000,
                                   how == 3 ? 4 : OTX_WIRE_UNDER_WAY, 77,  ""};
    otx_wire_put_hello(bytes, &hello);
    if (how == 0) bytes[0] = 'X';
    fake_send(fd, bytes, how == 4 ? 10 : sizeof bytes);
}

static void what_is_no_drive_is_not_connected(void) {
    for (how = 0; how < 5; how++) {
        struct otx_drive *drive = NULL;
        char message[200] = "";
        fake_start_silent(wrong_greeting);
        int error = otx_connect(fake_path(), false, &drive, message, sizeof message);
        fake_end();
        CHECK(error == (how < 4 ? OTX_ERROR_PROTOCOL : OTX_ERROR_CLOSED) && !drive && strlen(message) > 5);
        CHECK(how != 1 || !strcmp(message, "the drive speaks version 2, this library 1"));
    }
    how = 0;
}

static void nobody_there_is_said(void) {
    struct otx_drive *drive = NULL;
    char message[300], path[200];
    CHECK(otx_connect("/nowhere/otx.cmd", false, &drive, message, sizeof message) == OTX_ERROR_CONNECT && !drive);
    CHECK(!strcmp(message, "no drive on /nowhere/otx.cmd: No such file or directory"));
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    CHECK(otx_connect(path, false, &drive, message, sizeof message) == OTX_ERROR_CONNECT);
    setenv("OTX_SOCKET", "/nowhere/of_env", 1);
    CHECK(otx_connect(NULL, false, &drive, message, sizeof message) == OTX_ERROR_CONNECT);
    CHECK(strstr(message, "of_env"));
    unsetenv("OTX_SOCKET");
    CHECK(otx_connect(NULL, false, &drive, NULL, 0) != 0 || drive);
    otx_disconnect(drive);
    otx_disconnect(NULL);
}

static void changing(int fd) {  // the high half of HOST_PAGES goes from 1 to 2 between two questions
    for (int asked = 0;;) {
        struct otx_wire_command c = fake_take(fd, sent);
        uint32_t word = c.arg - OTX_QUERY_HEALTH, value = word + 1000;
        if (word == OTX_HEALTH_HOST_PAGES) value = 7;
        if (word == OTX_HEALTH_HOST_PAGES + 1) value = asked++ ? 2 : 1;
        fake_answer(fd, c.id, 0, value, 0, NULL, 0);
    }
}

static void health_has_whole_numbers(void) {
    struct otx_drive *drive = connected(changing);
    uint64_t health[OTX_HEALTH_NUMBERS];
    CHECK(!otx_health(drive, health));
    CHECK(health[OTX_HEALTH_HOST_PAGES] == (2ull << 32 | 7) && health[OTX_HEALTH_STARTS] == 1006);
    CHECK(health[OTX_HEALTH_NAND_PAGES] == (1011ull << 32 | 1010) && health[31] == 0);
    finish(drive);
}

static void checkpointing(int fd) {  // number 0x42 ends at the third question; `how`: it cannot be made
    for (uint32_t asked = 0;;) {
        struct otx_wire_command c = fake_take(fd, sent);
        if (c.opcode == OTX_OP_CHECKPOINT) seen = c;
        uint32_t ended = ++asked == 4 ? (how ? 0x142 : 0x42) : 0x41;
        fake_answer(fd, c.id, 0, c.opcode == OTX_OP_CHECKPOINT ? 0x42 : ended, 0, NULL, 0);
    }
}

static void a_checkpoint_is_waited_for(void) {
    for (how = 0; how < 2; how++) {
        struct otx_drive *drive = connected(checkpointing);
        CHECK(otx_checkpoint(drive, how) == (how ? OTX_STATUS_WRITE_FAULT : 0));
        CHECK(seen.arg == (uint32_t)how && otx_last_clock(drive) == 103);
        finish(drive);
    }
    how = 0;
}

static void slow(int fd) {
    for (;;) {
        struct otx_wire_command c = fake_take(fd, sent);
        uint8_t header[OTX_WIRE_ANSWER_HEADER];
        struct otx_wire_answer a = {.bytes = OTX_WIRE_ANSWER_HEADER, .id = c.id};
        otx_wire_put_answer(header, &a);
        usleep(5000);
        fake_send(fd, header, 10);
        usleep(5000);
        fake_send(fd, header + 10, sizeof header - 10);
    }
}

static volatile sig_atomic_t alarms;
static void on_alarm(int signal) { (void)signal, alarms++; }

static void a_signal_does_not_end_a_call(void) {
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval every = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    struct otx_drive *drive = connected(slow);
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    int error = otx_flush(drive) || otx_write(drive, 0, 32, buffer, NULL);
    setitimer(ITIMER_REAL, &off, NULL);
    CHECK(!error && alarms);
    finish(drive);
}

static const struct check_test tests[] = {
    TEST(the_greeting_says_what_the_drive_is),
    TEST(keep_is_said_in_the_greeting),
    TEST(every_option_reaches_the_drive),
    TEST(every_call_is_its_command),
    TEST(a_status_is_returned_with_its_words),
    TEST(answers_come_in_the_order_of_the_drive_with_the_ids_of_the_caller),
    TEST(a_call_that_waits_keeps_the_answers_of_others),
    TEST(thirty_two_commands_are_under_way_and_no_more),
    TEST(wrong_arguments_are_not_sent),
    TEST(a_drive_that_goes_ends_the_call),
    TEST(last_words_are_the_message),
    TEST(what_is_no_answer_ends_the_connection),
    TEST(a_second_answer_to_a_command_ends_the_connection),
    TEST(what_is_no_drive_is_not_connected),
    TEST(nobody_there_is_said),
    TEST(health_has_whole_numbers),
    TEST(a_checkpoint_is_waited_for),
    TEST(a_signal_does_not_end_a_call),
};

int main(int argc, char **argv) {
    return check_run(tests, (int)(sizeof tests / sizeof *tests), argc > 1 ? argv[1] : NULL);
}
