// SPDX-License-Identifier: Apache-2.0
// otx: the drive's commands from a shell (docs/guides/use-the-command-line.md, otx.1). Exit code 0, 1 when the drive or
// the connection says no, 2 for wrong arguments; each error is one line of words.
#include <stdio.h>

#include "answer.h"
#include "data.h"
#include "show.h"
#include "trace.h"

static int run_flush(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_flush(drive), 0);
}

static int run_barrier(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_barrier(drive), 0);
}

static int run_begin(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_begin(drive, args->options.txid), 0);
}

static int run_commit(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_commit(drive, args->options.txid, args->options.relaxed), 0);
}

static int run_abort(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_abort(drive, args->options.txid), 0);
}

static int run_prepare(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_prepare(drive, args->options.txid), 0);
}

static int run_recover(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_recover(drive), 0);
}

static int run_checkpoint(const struct args *args, struct otx_drive *drive) {
    return answer(args, drive, otx_checkpoint(drive, args->given & OPTION_OFF), 0);
}

static const char kept[] = "The transaction stays open when the program ends, until commit or abort.";

const struct command commands[] = {
    {"info", "", 0, 0, 0, 0, run_info, "Say what the drive is and which transactions are open", ""},
    {"read", " LBA [COUNT] [options]", 1, 2, OPTION_TXID | OPTION_OUTPUT | OPTION_ORDER | OPTION_PRIORITY, 0, run_read,
     "Read COUNT blocks (1) from LBA on", "With --txid as that transaction sees them."},
    {"write", " LBA [options]", 1, 1, OPTION_TXID | OPTION_INPUT | OPTION_WHOLE, 0, run_write,
     "Write whole blocks of 4096 bytes from LBA on",
     "Up to 32 blocks are one write and atomic; more are several. With --txid they are part of that transaction,\n"
     "which is opened if it is not, and stays open when the program ends."},
    {"trim", " LBA [COUNT] [options]", 1, 2, OPTION_TXID | OPTION_WHOLE, 0, run_trim,
     "Make COUNT blocks (1) from LBA on read as zeroes", ""},
    {"zero", " LBA [COUNT] [options]", 1, 2, OPTION_TXID | OPTION_WHOLE, 0, run_zero,
     "Write zeroes to COUNT blocks (1) from LBA on", ""},
    {"flush", "", 0, 0, 0, 0, run_flush, "Make all that was completed durable", ""},
    {"rflush", " LBA [COUNT] | --stream N", 0, 2, OPTION_STREAM, 0, run_rflush,
     "Make what was completed in a range or stream durable", ""},
    {"barrier", "", 0, 0, 0, 0, run_barrier, "Close the epoch", ""},
    {"begin", " --txid N", 0, 0, OPTION_TXID, OPTION_TXID, run_begin, "Open a transaction", kept},
    {"commit", " --txid N [--relaxed]", 0, 0, OPTION_TXID | OPTION_RELAXED, OPTION_TXID, run_commit,
     "Make all of a transaction visible at one instant, and durable", ""},
    {"abort", " --txid N", 0, 0, OPTION_TXID, OPTION_TXID, run_abort, "Make nothing of a transaction remain", ""},
    {"prepare", " --txid N", 0, 0, OPTION_TXID, OPTION_TXID, run_prepare,
     "Make a transaction durable and not visible, until commit or abort", "It survives power cuts undecided."},
    {"recover", "", 0, 0, 0, 0, run_recover, "Abort all transactions that are open and not prepared", ""},
    {"query", " WHAT [--txid N]", 1, 1, OPTION_TXID, 0, run_query, "Ask for one number",
     "WHAT: tx or tx_walk (with --txid), capacity, pages_left, dropped, released, commits, waiting, memory_errors,\n"
     "lost_log_pages, doubtful, health (its first word), or a number."},
    {"health", "", 0, 0, 0, 0, run_health, "Say how the NAND is: wear, bad blocks, pages programmed", ""},
    {"checkpoint", " [--off]", 0, 0, OPTION_OFF, 0, run_checkpoint, "Make the next start replay only what comes later",
     "With --off it counts as an orderly power-down: after flush and recover the next start has nothing to replay."},
    {"trace", " play FILE | record FILE -- PROGRAM [ARGUMENTS]", 2, 60, OPTION_DEPTH | OPTION_WRAP | OPTION_ACTION, 0,
     run_trace, "Play a block trace, or record what a program asks",
     "play: FILE is an iolog of fio (version 2 or 3) or text of blkparse. Reads, writes, trims and flushes are played, "
     "up "
     "to\n"
     "--depth at once; times are not kept. Then says counts, latencies and NAND pages.\n"
     "record: runs PROGRAM with OTX_SOCKET changed, and writes what it asks of the drive to FILE as an iolog of fio."},
    {"help", " [COMMAND]", 0, 1, 0, 0, help, "Say this, or how a command is used", ""},
    {0},
};

int main(int argc, char **argv) {
    struct args args = {0};
    read_args(argc, argv, &args);
    struct otx_drive *drive = NULL;
    char message[300];
    if (args.command->run != help && otx_connect(args.socket, true, &drive, message, sizeof message)) {
        fprintf(stderr, "otx: %s\n", message);
        return 1;
    }
    int code = args.command->run(&args, drive);
    otx_disconnect(drive);
    return code;
}
