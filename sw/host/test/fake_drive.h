// SPDX-License-Identifier: Apache-2.0
// A drive of one connection for tests: what it says and when is the test's.
#ifndef OTX_FAKE_DRIVE_H
#define OTX_FAKE_DRIVE_H

#include "otx_wire.h"

// Serves one client at fake_path() with `serve`, in a thread of its own, after a greeting of 250 blocks, 100 entries,
// clocks of 10,000 ps, clock 77, preset "fake". The connection ends when `serve` returns.
void fake_start(void (*serve)(int fd));

// The same without a greeting: `serve` sends one.
void fake_start_silent(void (*serve)(int fd));

// Waits for `serve` to end and closes.
void fake_end(void);

const char *fake_path(void);

// For `serve`. A frame and its data (of at most 128 KiB); ends the thread when the client has gone.
struct otx_wire_command fake_take(int fd, uint8_t *data);
void fake_answer(int fd, uint64_t id, int status, uint32_t result, uint32_t blocks, const void *data, size_t bytes);
void fake_send(int fd, const void *bytes, size_t size);
void fake_receive(int fd, void *bytes, size_t size);

#endif
