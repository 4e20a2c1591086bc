// SPDX-License-Identifier: Apache-2.0
// Connection, otx_send, otx_take. A send may block: the drive takes all of 32 commands whether or not its answers are
// taken, so it ends.
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "otx_wire.h"

int otx_fail(struct otx_drive *drive, int error, const char *words) {
    snprintf(drive->message, sizeof drive->message, "%s", words ? words : otx_words(error));
    if (error == OTX_ERROR_CLOSED || error == OTX_ERROR_PROTOCOL) drive->error = error;
    return error;
}

static int send_all(struct otx_drive *drive, const void *header, size_t size, const void *data, size_t bytes) {
    struct iovec parts[2] = {{(void *)(uintptr_t)header, size}, {(void *)(uintptr_t)data, bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len + parts[1].iov_len) {
        ssize_t sent = sendmsg(drive->fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return -1;
        for (int i = 0; i < 2; i++) {
            size_t n = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + n;
            parts[i].iov_len -= n;
            sent -= (ssize_t)n;
        }
    }
    return 0;
}

static int receive_all(struct otx_drive *drive, void *to, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = recv(drive->fd, (char *)to + got, size - got, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return otx_fail(drive, OTX_ERROR_CLOSED, NULL);
        got += (size_t)n;
    }
    return 0;
}

// Nothing can be sent any more: why may be there to read.
static int gone(struct otx_drive *drive) {
    while (otx_receive(drive, 0) == 0) continue;
    return drive->error ? drive->error : otx_fail(drive, OTX_ERROR_CLOSED, NULL);
}

static int greet(struct otx_drive *drive, bool keep) {
    uint8_t bytes[OTX_WIRE_HELLO];
    struct otx_wire_hello hello;
    int error = receive_all(drive, bytes, sizeof bytes);
    if (error) return error;
    if (otx_wire_get_hello(bytes, &hello)) return otx_fail(drive, OTX_ERROR_PROTOCOL, "no drive serves there");
    if (hello.version != OTX_WIRE_VERSION || hello.clock_ps == 0 || hello.under_way < OTX_UNDER_WAY) {
        snprintf(drive->message, sizeof drive->message, "the drive speaks version %u, this library %d", hello.version,
                 OTX_WIRE_VERSION);
        return drive->error = OTX_ERROR_PROTOCOL;
    }
    struct otx_about *about = &drive->about;
    about->lbas = hello.lbas;
    about->tx_entries = hello.tx_entries;
    about->clock_ps = hello.clock_ps;
    about->clock = hello.clock;
    snprintf(about->preset, sizeof about->preset, "%s", hello.preset);
    uint8_t greeting[OTX_WIRE_GREETING];
    otx_wire_put_greeting(greeting, OTX_WIRE_VERSION, keep ? OTX_WIRE_KEEP : 0);
    return send_all(drive, greeting, sizeof greeting, NULL, 0) ? gone(drive) : 0;
}

static int reach(struct otx_drive *drive, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    drive->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int why = drive->fd < 0 ? errno : strlen(path) >= sizeof address.sun_path ? ENAMETOOLONG : 0;
    if (!why) {
        memcpy(address.sun_path, path, strlen(path) + 1);
        while (connect(drive->fd, (struct sockaddr *)&address, sizeof address))
            if (errno != EINTR) {
                why = errno;
                break;
            }
    }
    if (why) snprintf(drive->message, sizeof drive->message, "no drive on %.150s: %s", path, strerror(why));
    return why ? OTX_ERROR_CONNECT : 0;
}

int otx_connect(const char *path, bool keep, struct otx_drive **drive, char *message, size_t size) {
    if (!path) path = getenv("OTX_SOCKET");
    if (!path) path = "build/otx.cmd";
    *drive = calloc(1, sizeof **drive);
    if (!*drive) {
        if (message) snprintf(message, size, "%s", otx_words(OTX_ERROR_MEMORY));
        return OTX_ERROR_MEMORY;
    }
    int error = reach(*drive, path);
    if (!error) error = greet(*drive, keep);
    if (!error) return 0;
    if (message) snprintf(message, size, "%s", (*drive)->message);
    otx_disconnect(*drive);
    *drive = NULL;
    return error;
}

void otx_disconnect(struct otx_drive *drive) {
    if (!drive) return;
    if (drive->fd >= 0) close(drive->fd);
    free(drive);
}

const struct otx_about *otx_about(const struct otx_drive *drive) { return &drive->about; }
const char *otx_message(const struct otx_drive *drive) { return drive->message; }
uint64_t otx_last_clock(const struct otx_drive *drive) { return drive->last_clock; }
uint64_t otx_last_took(const struct otx_drive *drive) { return drive->last_took; }
int otx_under_way(const struct otx_drive *drive) { return drive->under_way; }

uint64_t otx_ns(const struct otx_drive *drive, uint64_t clocks) {
    uint64_t ps = drive->about.clock_ps;
    return clocks / 1000 * ps + clocks % 1000 * ps / 1000;
}

static uint8_t flags_of(const struct otx_options *o) {
    int flags = o->in_tx ? OTX_WIRE_HAS_TX : 0;
    if (o->fua) flags |= OTX_WIRE_FUA;
    if (o->commit) flags |= OTX_WIRE_COMMIT;
    if (o->relaxed) flags |= OTX_WIRE_RELAXED;
    if (o->barrier) flags |= OTX_WIRE_BARRIER;
    if (o->orderless) flags |= OTX_WIRE_ORDERLESS;
    return (uint8_t)flags;
}

static int unanswered(const struct otx_drive *drive) {
    int count = 0;
    for (int n = 0; n <= OTX_UNDER_WAY; n++) count += drive->tickets[n].used && !drive->tickets[n].answered;
    return count;
}

int otx_start(struct otx_drive *drive, const struct otx_request *r, bool own) {
    if (drive->error) return drive->error;
    if (r->count > UINT16_MAX) return otx_fail(drive, OTX_ERROR_ARGUMENT, "more than 65535 blocks");
    bool some = r->count >= 1 && r->count <= OTX_MAX_BLOCKS;
    size_t out = some && r->opcode == OTX_OP_WRITE ? (size_t)r->count * OTX_BLOCK : 0;
    size_t in = some && r->opcode == OTX_OP_READ ? (size_t)r->count * OTX_BLOCK : 0;
    if ((out && !r->write) || (in && !r->read)) return otx_fail(drive, OTX_ERROR_ARGUMENT, "no place for the data");
    if (!own && drive->under_way == OTX_UNDER_WAY) return otx_fail(drive, OTX_ERROR_FULL, NULL);
    // the drive reads no more of us while 32 have no answer: answers first
    while (unanswered(drive) == OTX_UNDER_WAY) {
        int error = otx_receive(drive, -1);
        if (error) return error;
    }
    int n = 0;
    while (drive->tickets[n].used) n++;
    struct otx_wire_command c = {
        .bytes = (uint32_t)(OTX_WIRE_HEADER + out),
        .opcode = r->opcode,
        .txid = r->options.txid,
        .flags = flags_of(&r->options),
        .order = r->options.order,
        .priority = r->options.priority,
        .id = (uint64_t)n,
        .lba = r->lba,
        .arg = r->arg,
        .count = (uint16_t)r->count,
        .stream = r->options.stream,
    };
    uint8_t header[OTX_WIRE_HEADER];
    otx_wire_put_command(header, &c);
    if (send_all(drive, header, sizeof header, r->write, out)) return gone(drive);
    drive->tickets[n] = (struct otx_ticket){.used = true, .read = in ? r->read : NULL, .room = in};
    drive->tickets[n].answer.id = r->id;
    if (!own) drive->under_way++;
    return n;
}

static int last_words(struct otx_drive *drive, size_t bytes) {
    char words[OTX_WIRE_MAX_WORDS + 1] = "";
    if (bytes > OTX_WIRE_MAX_WORDS) return otx_fail(drive, OTX_ERROR_PROTOCOL, NULL);
    int error = receive_all(drive, words, bytes);
    return error ? error : otx_fail(drive, OTX_ERROR_CLOSED, words);
}

int otx_receive(struct otx_drive *drive, int timeout_ms) {
    if (drive->error) return drive->error;
    struct pollfd ready = {drive->fd, POLLIN, 0};
    int n;
    while ((n = poll(&ready, 1, timeout_ms)) < 0 && errno == EINTR) continue;
    if (n == 0) return otx_fail(drive, OTX_ERROR_TIMEOUT, NULL);
    uint8_t header[OTX_WIRE_ANSWER_HEADER];
    int error = receive_all(drive, header, sizeof header);
    if (error) return error;
    struct otx_wire_answer a;
    otx_wire_get_answer(header, &a);
    size_t data = a.bytes - OTX_WIRE_ANSWER_HEADER;
    if (a.bytes < OTX_WIRE_ANSWER_HEADER) return otx_fail(drive, OTX_ERROR_PROTOCOL, NULL);
    if (a.kind == OTX_WIRE_LAST_WORDS) return last_words(drive, data);
    struct otx_ticket *t = a.id <= OTX_UNDER_WAY ? &drive->tickets[a.id] : NULL;
    if (a.kind != OTX_WIRE_ANSWER || !t || !t->used || t->answered || (data && data != t->room))
        return otx_fail(drive, OTX_ERROR_PROTOCOL, NULL);
    if (data && (error = receive_all(drive, t->read, data))) return error;
    t->answered = true;
    t->turn = drive->turns++;
    t->answer.status = a.status;
    t->answer.result = a.result;
    t->answer.blocks = a.blocks;
    t->answer.clock = drive->last_clock = a.clock;
    t->answer.begun = a.begun;
    drive->last_took = a.clock - a.begun;
    return 0;
}

int otx_send(struct otx_drive *drive, const struct otx_request *request) {
    int n = otx_start(drive, request, false);
    return n < 0 ? n : 0;
}

int otx_take(struct otx_drive *drive, struct otx_answer *answer, int timeout_ms) {
    if (!drive->under_way) return otx_fail(drive, OTX_ERROR_ARGUMENT, "no command is under way");
    for (;;) {
        struct otx_ticket *first = NULL;
        for (int n = 0; n <= OTX_UNDER_WAY; n++) {
            struct otx_ticket *t = &drive->tickets[n];
            if (t->used && t->answered && (!first || t->turn < first->turn)) first = t;
        }
        if (first) {
            *answer = first->answer;
            *first = (struct otx_ticket){0};
            drive->under_way--;
            return 0;
        }
        int error = otx_receive(drive, timeout_ms);
        if (error) return error;
    }
}
