// SPDX-License-Identifier: Apache-2.0
// Inside libotx: a connection, and how its state changes. Tickets are this library's own numbers of commands, so that
// the ids of callers may be whatever they like.
#ifndef OTX_CLIENT_H
#define OTX_CLIENT_H

#include "otx.h"

struct otx_ticket {
    bool used, answered;
    void *read;   // where data of a READ goes
    size_t room;  // bytes there
    uint64_t turn;
    struct otx_answer answer;
};

struct otx_drive {
    int fd, error;  // error: that ended the connection, 0: none
    struct otx_about about;
    struct otx_ticket tickets[OTX_UNDER_WAY + 1];  // one more for a call that waits
    int under_way;                                 // of otx_send
    uint64_t turns, last_clock, last_took;
    char message[256];
};

#pragma GCC visibility push(hidden)

// Notes an error and returns it: `words` NULL for those of otx_words.
int otx_fail(struct otx_drive *drive, int error, const char *words);

// Sends a command with a ticket; the number of the ticket, or an error. `own`: of a call that waits for it, which frees
// the ticket; else otx_take does.
int otx_start(struct otx_drive *drive, const struct otx_request *request, bool own);

// Receives one answer and notes it with its ticket; 0 or an error.
int otx_receive(struct otx_drive *drive, int timeout_ms);

#pragma GCC visibility pop

#endif
