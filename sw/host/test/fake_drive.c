// SPDX-License-Identifier: Apache-2.0
#include "fake_drive.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener, client = -1;
static pthread_t thread;
static void (*serve_one)(int fd);
static int greets;
static uint64_t clock_now = 100;

const char *fake_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/otx_fake_%d", (int)getpid());
    return path;
}

void fake_send(int fd, const void *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0) pthread_exit(NULL);
        sent += (size_t)n;
    }
}

void fake_receive(int fd, void *bytes, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = recv(fd, (char *)bytes + got, size - got, 0);
        if (n <= 0) pthread_exit(NULL);
        got += (size_t)n;
    }
}

struct otx_wire_command fake_take(int fd, uint8_t *data) {
    uint8_t header[OTX_WIRE_HEADER];
    struct otx_wire_command c;
    fake_receive(fd, header, sizeof header);
    otx_wire_get_command(header, &c);
    if (c.bytes > OTX_WIRE_HEADER) fake_receive(fd, data, c.bytes - OTX_WIRE_HEADER);
    return c;
}

void fake_answer(int fd, uint64_t id, int status, uint32_t result, uint32_t blocks, const void *data, size_t bytes) {
    uint8_t header[OTX_WIRE_ANSWER_HEADER];
    struct otx_wire_answer a = {.bytes = (uint32_t)(OTX_WIRE_ANSWER_HEADER + bytes),
                                .status = (uint8_t)status,
                                .id = id,
                                .clock = clock_now++,
                                .begun = 7,
                                .result = result,
                                .blocks = blocks};
    otx_wire_put_answer(header, &a);
    fake_send(fd, header, sizeof header);
    if (bytes) fake_send(fd, data, bytes);
}

static void *serve_thread(void *unused) {
    (void)unused;
    client = accept(listener, NULL, NULL);
    uint8_t greeting[OTX_WIRE_GREETING], bytes[OTX_WIRE_HELLO];
    struct otx_wire_hello hello = {OTX_WIRE_VERSION, 250, 100, 10000, OTX_WIRE_UNDER_WAY, 77, "fake"};
    if (greets) {
        otx_wire_put_hello(bytes, &hello);
        fake_send(client, bytes, sizeof bytes);
        fake_receive(client, greeting, sizeof greeting);
    }
    serve_one(client);
    shutdown(client, SHUT_RDWR);
    return NULL;
}

static void start(void (*serve)(int fd), int hello) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fake_path());
    unlink(fake_path());
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    serve_one = serve;
    greets = hello;
    clock_now = 100;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1) ||
        pthread_create(&thread, NULL, serve_thread, NULL))
        abort();
}

void fake_start(void (*serve)(int fd)) { start(serve, 1); }
void fake_start_silent(void (*serve)(int fd)) { start(serve, 0); }

void fake_end(void) {
    pthread_join(thread, NULL);
    close(client);
    close(listener);
    unlink(fake_path());
}
