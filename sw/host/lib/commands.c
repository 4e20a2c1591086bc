// SPDX-License-Identifier: Apache-2.0
// Commands that wait for their completion.
#include "client.h"

// The answer of one command; 0, its status or an error.
static int ask(struct otx_drive *drive, const struct otx_request *request, struct otx_answer *answer) {
    int n = otx_start(drive, request, true);
    if (n < 0) return n;
    struct otx_ticket *t = &drive->tickets[n];
    while (!t->answered) {
        int error = otx_receive(drive, -1);
        if (error) return error;
    }
    if (answer) *answer = t->answer;
    int status = t->answer.status;
    *t = (struct otx_ticket){0};
    return status ? otx_fail(drive, status, NULL) : 0;
}

static struct otx_options options_or_none(const struct otx_options *options) {
    return options ? *options : (struct otx_options){0};
}

static struct otx_options in_tx(uint8_t txid) { return (struct otx_options){.in_tx = true, .txid = txid}; }

static int range(struct otx_drive *drive, uint8_t opcode, uint32_t lba, uint32_t count,
                 const struct otx_options *options) {
    struct otx_request r = {.opcode = opcode, .lba = lba, .count = count, .options = options_or_none(options)};
    return ask(drive, &r, NULL);
}

int otx_read(struct otx_drive *drive, uint32_t lba, uint32_t count, void *data, const struct otx_options *options,
             uint32_t *delivered) {
    struct otx_request r = {
        .opcode = OTX_OP_READ, .lba = lba, .count = count, .read = data, .options = options_or_none(options)};
    struct otx_answer a = {0};
    int error = ask(drive, &r, &a);
    if (delivered) *delivered = a.blocks;
    return error;
}

int otx_write(struct otx_drive *drive, uint32_t lba, uint32_t count, const void *data,
              const struct otx_options *options) {
    struct otx_request r = {
        .opcode = OTX_OP_WRITE, .lba = lba, .count = count, .write = data, .options = options_or_none(options)};
    return ask(drive, &r, NULL);
}

int otx_trim(struct otx_drive *drive, uint32_t lba, uint32_t count, const struct otx_options *options) {
    return range(drive, OTX_OP_TRIM, lba, count, options);
}

int otx_write_zeroes(struct otx_drive *drive, uint32_t lba, uint32_t count, const struct otx_options *options) {
    return range(drive, OTX_OP_WRITE_ZEROES, lba, count, options);
}

int otx_flush(struct otx_drive *drive) { return range(drive, OTX_OP_FLUSH, 0, 0, NULL); }
int otx_barrier(struct otx_drive *drive) { return range(drive, OTX_OP_BARRIER, 0, 0, NULL); }
int otx_recover(struct otx_drive *drive) { return range(drive, OTX_OP_RECOVER, 0, 0, NULL); }

int otx_rflush(struct otx_drive *drive, uint32_t lba, uint32_t count) {
    return range(drive, OTX_OP_RFLUSH, lba, count, NULL);
}

int otx_rflush_stream(struct otx_drive *drive, uint16_t stream) {
    struct otx_request r = {.opcode = OTX_OP_RFLUSH, .arg = 1, .options = {.stream = stream}};
    return ask(drive, &r, NULL);
}

static int transaction(struct otx_drive *drive, uint8_t opcode, struct otx_options options) {
    return range(drive, opcode, 0, 0, &options);
}

int otx_begin(struct otx_drive *drive, uint8_t txid) { return transaction(drive, OTX_OP_BEGIN, in_tx(txid)); }
int otx_abort(struct otx_drive *drive, uint8_t txid) { return transaction(drive, OTX_OP_ABORT, in_tx(txid)); }
int otx_prepare(struct otx_drive *drive, uint8_t txid) { return transaction(drive, OTX_OP_PREPARE, in_tx(txid)); }

int otx_commit(struct otx_drive *drive, uint8_t txid, bool relaxed) {
    struct otx_options options = in_tx(txid);
    options.relaxed = relaxed;
    return transaction(drive, OTX_OP_COMMIT, options);
}

int otx_query(struct otx_drive *drive, uint32_t what, int txid, uint32_t *result) {
    struct otx_request r = {.opcode = OTX_OP_QUERY, .arg = what};
    if (txid > UINT8_MAX) return otx_fail(drive, OTX_ERROR_ARGUMENT, "no such transaction");
    if (txid >= 0) r.options = in_tx((uint8_t)txid);
    struct otx_answer a = {0};
    int error = ask(drive, &r, &a);
    *result = a.result;
    return error;
}

static int health_word(struct otx_drive *drive, uint32_t word, uint32_t *value) {
    return otx_query(drive, OTX_QUERY_HEALTH + word, -1, value);
}

int otx_health(struct otx_drive *drive, uint64_t health[OTX_HEALTH_NUMBERS]) {
    static const uint8_t words[] = {
#define OTX_ONE(name, number, meaning) number,
        OTX_HEALTH_WORDS(OTX_ONE)
#undef OTX_ONE
    };
    for (int i = 0; i < OTX_HEALTH_NUMBERS; i++) health[i] = 0;
    for (size_t i = 0; i < sizeof words; i++) {
        uint32_t n = words[i], low, high = 0, again = 0;
        bool wide = OTX_HEALTH_WIDE >> n & 1u;
        do {  // firmware may write one half between the two
            int error = wide ? health_word(drive, n + 1, &high) : 0;
            if (!error) error = health_word(drive, n, &low);
            if (!error && wide) error = health_word(drive, n + 1, &again);
            if (error) return error;
        } while (again != high);
        health[n] = (uint64_t)high << 32 | low;
    }
    return 0;
}

int otx_checkpoint(struct otx_drive *drive, bool off) {
    struct otx_request r = {.opcode = OTX_OP_CHECKPOINT, .arg = off};
    struct otx_answer a = {0};
    int error = ask(drive, &r, &a);
    for (uint32_t ended = ~a.result; !error && (ended & 0xff) != a.result;) {
        error = health_word(drive, OTX_HEALTH_ASKED_CHECKPOINT, &ended);
        if (!error && ended == (a.result | 0x100))
            return otx_fail(drive, OTX_STATUS_WRITE_FAULT, "the checkpoint could not be made");
    }
    return error;
}
