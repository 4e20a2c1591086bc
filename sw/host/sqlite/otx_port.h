// SPDX-License-Identifier: Apache-2.0
// What the SQLite VFS asks of a drive, whatever it is reached by: the simulator's command socket (port_socket.c), NVMe
// passthrough of Linux (port_nvme.c), or functions of a caller's own.
//
// Every call waits for the completion of its command and returns 0, a status of the drive (positive, enum otx_status),
// or an error (negative, enum otx_error: after it the drive is gone, and nobody knows whether the command was carried
// out). What the commands mean is docs/contract.md. `txid` -1: none. One thread at a time calls.
#ifndef OTX_PORT_H
#define OTX_PORT_H

#include <stddef.h>
#include <stdint.h>

enum { OTX_PORT_COMMIT = 1, OTX_PORT_RELAXED = 2 };  // flags of a write and of a commit

struct otx_port_methods {
    int (*read)(void *context, uint32_t lba, uint32_t count, void *data, int txid);
    // 1 to 32 blocks as one. COMMIT: it commits `txid` with it, RELAXED: visible, and durable later.
    int (*write)(void *context, uint32_t lba, uint32_t count, const void *data, int txid, unsigned flags);
    int (*begin)(void *context, int txid);
    int (*commit)(void *context, int txid, unsigned flags);
    int (*abort)(void *context, int txid);
    int (*flush)(void *context);
    int (*trim)(void *context, uint32_t lba, uint32_t count);  // of no transaction
    // One line about the last call that failed; never NULL.
    const char *(*words)(void *context, int error);
    void (*close)(void *context);
};

struct otx_port {
    const struct otx_port_methods *methods;
    void *context;
    uint32_t lbas;        // capacity in blocks
    uint32_t tx_entries;  // entries of a transaction at most
    char identity[64];    // the same for all who reach this drive from this machine; empty: nobody else can
};

// Opens the drive at `path`. 0, or an error with one line of words in `why`.
typedef int otx_port_open(const char *path, struct otx_port *port, char *why, size_t size);

otx_port_open otx_port_open_socket;  // the command socket of a simulated drive
otx_port_open otx_port_open_nvme;    // a block or character device of Linux' nvme driver; needs root
otx_port_open otx_port_open_any;     // one of these, by what `path` is

#endif
