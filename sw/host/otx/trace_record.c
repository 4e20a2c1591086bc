// SPDX-License-Identifier: Apache-2.0
// Records: stands between a program and the drive, passes all bytes on in both directions, and writes an iolog of fio
// of the commands that go by, in their order. FUA and COMMIT, which fio has no words for, become a datasync behind the
// write; PREPARE, BEGIN, ABORT and QUERY leave nothing.
//
// Each connection of the program has two threads, one a direction.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "otx_wire.h"
#include "trace.h"

struct connection {
    int program, drive;
};

static const char device[] = "/dev/otx";
static FILE *log_file;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *drive_socket;
static int listener;

static void log_command(const struct otx_wire_command *c) {
    const char *action = NULL;
    bool blocks = c->count >= 1 && c->count <= OTX_MAX_BLOCKS;
    bool durable = c->opcode == OTX_OP_COMMIT || c->opcode == OTX_OP_CHECKPOINT;
    if (blocks && c->opcode == OTX_OP_READ) action = "read";
    if (blocks && c->opcode == OTX_OP_WRITE) action = "write";
    if (blocks && (c->opcode == OTX_OP_TRIM || c->opcode == OTX_OP_WRITE_ZEROES)) action = "trim";
    durable |= action && c->flags & (OTX_WIRE_FUA | OTX_WIRE_COMMIT);
    durable &= !(c->flags & OTX_WIRE_RELAXED);
    pthread_mutex_lock(&log_mutex);
    if (action)
        fprintf(log_file, "%s %s %" PRIu64 " %d\n", device, action, (uint64_t)c->lba * OTX_BLOCK, c->count * OTX_BLOCK);
    if (c->opcode == OTX_OP_FLUSH) fprintf(log_file, "%s sync 0 0\n", device);
    if (durable) fprintf(log_file, "%s datasync 0 0\n", device);
    pthread_mutex_unlock(&log_mutex);
}

static bool pass(int to, const uint8_t *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(to, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        sent += (size_t)n;
    }
    return true;
}

static bool get(int from, uint8_t *bytes, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = recv(from, bytes + got, size - got, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

// Whatever the drive says, to the program.
static void *down(void *argument) {
    const struct connection *c = argument;
    static _Thread_local uint8_t bytes[65536];
    for (;;) {
        ssize_t n = recv(c->drive, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || !pass(c->program, bytes, (size_t)n)) break;
    }
    shutdown(c->program, SHUT_RDWR);
    shutdown(c->drive, SHUT_RDWR);
    return NULL;
}

// Frames of the program, to the drive. One that makes no sense is passed on as it is: the drive says so.
static void up(const struct connection *c) {
    static _Thread_local uint8_t frame[OTX_WIRE_HEADER + OTX_WIRE_MAX_BLOCKS * OTX_WIRE_BLOCK];
    if (!get(c->program, frame, OTX_WIRE_GREETING) || !pass(c->drive, frame, OTX_WIRE_GREETING)) return;
    while (get(c->program, frame, OTX_WIRE_HEADER)) {
        struct otx_wire_command command;
        otx_wire_get_command(frame, &command);
        size_t data =
            command.bytes > OTX_WIRE_HEADER && command.bytes <= sizeof frame ? command.bytes - OTX_WIRE_HEADER : 0;
        if (!get(c->program, frame + OTX_WIRE_HEADER, data)) return;
        log_command(&command);
        if (!pass(c->drive, frame, OTX_WIRE_HEADER + data)) return;
    }
}

static void *serve(void *argument) {
    struct connection *c = argument;
    pthread_t other;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", drive_socket);
    if (!connect(c->drive, (struct sockaddr *)&address, sizeof address) && !pthread_create(&other, NULL, down, c)) {
        up(c);
        shutdown(c->drive, SHUT_RDWR);
        pthread_join(other, NULL);
    }
    close(c->program);
    close(c->drive);
    free(c);
    return NULL;
}

static void *accept_all(void *unused) {
    (void)unused;
    for (;;) {
        struct connection *c = malloc(sizeof *c);
        pthread_t thread;
        if (!c) return NULL;
        c->program = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        c->drive = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->program < 0 || c->drive < 0 || pthread_create(&thread, NULL, serve, c)) {
            free(c);
            return NULL;
        }
        pthread_detach(thread);
    }
}

static int run(char *const program[], const char *socket_path) {
    pid_t child = fork();
    if (child == 0) {
        setenv("OTX_SOCKET", socket_path, 1);
        execvp(program[0], program);
        fprintf(stderr, "otx: trace: cannot run %s: %s\n", program[0], strerror(errno));
        _exit(127);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int trace_record(const char *path, const char *drive_path, char *const program[]) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/otx_record_XXXXXX";
    pthread_t thread;
    drive_socket = drive_path;
    log_file = fopen(path, "w");
    if (!log_file) wrong("%s: %s", path, strerror(errno));
    fprintf(log_file, "fio version 2 iolog\n%s add\n%s open\n", device, device);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!mkdtemp(folder)) wrong("%s: %s", folder, strerror(errno));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/cmd", folder);
    fflush(log_file);         // before fork
    signal(SIGINT, SIG_IGN);  // the program's
    int code = 1;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16) ||
        pthread_create(&thread, NULL, accept_all, NULL))
        fprintf(stderr, "otx: trace: cannot serve on %s: %s\n", address.sun_path, strerror(errno));
    else code = run(program, address.sun_path);
    unlink(address.sun_path);
    rmdir(folder);
    pthread_mutex_lock(&log_mutex);  // for good: nothing is written any more
    fprintf(log_file, "%s close\n", device);
    if (ferror(log_file) | fclose(log_file)) {
        fprintf(stderr, "otx: trace: cannot write %s\n", path);
        return 1;
    }
    return code;
}
