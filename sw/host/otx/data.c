// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"

static uint8_t piece[2][OTX_MAX_BLOCKS * OTX_BLOCK];

static FILE *opened(const char *path, const char *mode, FILE *otherwise) {
    if (!path || !strcmp(path, "-")) return otherwise;
    FILE *file = fopen(path, mode);
    if (!file) wrong("%s: %s", path, strerror(errno));
    return file;
}

static uint32_t lba_of(const struct args *args) { return number(args->operands[0], UINT32_MAX, "LBA"); }

static uint32_t count_of(const struct args *args) {
    return args->operand_count > 1 ? number(args->operands[1], UINT32_MAX, "COUNT") : 1;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

int run_read(const struct args *args, struct otx_drive *drive) {
    uint32_t lba = lba_of(args), count = count_of(args), done = 0;
    if (args->given & OPTION_JSON && (!args->output || !strcmp(args->output, "-")))
        wrong("--json of a read needs --output FILE: standard output cannot have both");
    FILE *file = opened(args->output, "wb", stdout);
    int error = 0;
    do {
        uint32_t n = smaller(count - done, OTX_MAX_BLOCKS);
        error = otx_read(drive, lba + done, n, piece[0], &args->options, NULL);
        if (!error && fwrite(piece[0], OTX_BLOCK, n, file) != n) break;
        if (!error) done += n;
    } while (!error && done < count);
    if (ferror(file) | (file == stdout ? fflush(file) : fclose(file))) {
        fprintf(stderr, "otx: read: cannot write the data: %s\n", strerror(errno));
        return 1;
    }
    return answer(args, drive, error, done);
}

// Blocks of the next piece; a last block that is not whole ends the program before anything of the piece is written.
static uint32_t next_piece(FILE *file, uint8_t *to, uint64_t before) {
    size_t bytes = fread(to, 1, sizeof piece[0], file);
    if (ferror(file)) wrong("cannot read the data: %s", strerror(errno));
    if (bytes % OTX_BLOCK)
        wrong("%" PRIu64 " bytes of data are not whole blocks of %d bytes; %" PRIu64 " blocks are written",
              before * OTX_BLOCK + bytes, OTX_BLOCK, before);
    return (uint32_t)(bytes / OTX_BLOCK);
}

int run_write(const struct args *args, struct otx_drive *drive) {
    uint32_t lba = lba_of(args);
    FILE *file = opened(args->input, "rb", stdin);
    uint64_t done = 0;
    int error = 0, now = 0;
    uint32_t n = next_piece(file, piece[now], 0);
    if (!n) wrong("no data to write");
    while (!error && n) {
        uint32_t next = next_piece(file, piece[!now], done);
        struct otx_options options = args->options;
        options.commit &= !next;
        options.barrier &= !next;
        options.relaxed &= options.commit || !args->options.commit;
        error = otx_write(drive, lba + (uint32_t)done, n, piece[now], &options);
        if (!error) done += n;
        n = next;
        now = !now;
    }
    if (file != stdin) fclose(file);
    return answer(args, drive, error, done);
}

static int in_pieces(const struct args *args, struct otx_drive *drive,
                     int (*one)(struct otx_drive *, uint32_t, uint32_t, const struct otx_options *)) {
    uint32_t lba = lba_of(args), count = count_of(args), done = 0;
    int error = 0;
    do {
        uint32_t n = smaller(count - done, OTX_MAX_BLOCKS);
        error = one(drive, lba + done, n, &args->options);
        if (!error) done += n;
    } while (!error && done < count);
    return answer(args, drive, error, done);
}

int run_trim(const struct args *args, struct otx_drive *drive) { return in_pieces(args, drive, otx_trim); }
int run_zero(const struct args *args, struct otx_drive *drive) { return in_pieces(args, drive, otx_write_zeroes); }

int run_rflush(const struct args *args, struct otx_drive *drive) {
    bool stream = args->given & OPTION_STREAM;
    if (stream == (args->operand_count > 0)) wrong("rflush is of LBA and COUNT, or of --stream");
    if (stream) return answer(args, drive, otx_rflush_stream(drive, args->options.stream), 0);
    uint32_t count = number(args->operands[1] ? args->operands[1] : "1", UINT16_MAX, "COUNT");
    int error = otx_rflush(drive, lba_of(args), count);
    return answer(args, drive, error, error ? 0 : count);
}
