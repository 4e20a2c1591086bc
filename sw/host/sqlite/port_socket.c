// SPDX-License-Identifier: Apache-2.0
// The drive by the command socket of the simulator, with libotx. The connection aborts what it has open when it ends.
#include <stdio.h>
#include <stdlib.h>

#include "otx.h"
#include "otx_port.h"

static struct otx_options in_tx(int txid, unsigned flags) {
    return (struct otx_options){.in_tx = txid >= 0,
                                .txid = (uint8_t)(txid < 0 ? 0 : txid),
                                .commit = flags & OTX_PORT_COMMIT,
                                .relaxed = flags & OTX_PORT_RELAXED};
}

static int socket_read(void *context, uint32_t lba, uint32_t count, void *data, int txid) {
    const struct otx_options options = in_tx(txid, 0);
    return otx_read(context, lba, count, data, &options, NULL);
}

static int socket_write(void *context, uint32_t lba, uint32_t count, const void *data, int txid, unsigned flags) {
    const struct otx_options options = in_tx(txid, flags);
    return otx_write(context, lba, count, data, &options);
}

static int socket_begin(void *context, int txid) { return otx_begin(context, (uint8_t)txid); }

static int socket_commit(void *context, int txid, unsigned flags) {
    return otx_commit(context, (uint8_t)txid, flags & OTX_PORT_RELAXED);
}

static int socket_abort(void *context, int txid) { return otx_abort(context, (uint8_t)txid); }

static int socket_flush(void *context) { return otx_flush(context); }

static int socket_trim(void *context, uint32_t lba, uint32_t count) { return otx_trim(context, lba, count, NULL); }

static const char *socket_words(void *context, int error) {
    return error > 0 ? otx_words(error) : otx_message(context);
}

static void socket_close(void *context) { otx_disconnect(context); }

static const struct otx_port_methods methods = {socket_read,  socket_write, socket_begin, socket_commit, socket_abort,
                                                socket_flush, socket_trim,  socket_words, socket_close};

int otx_port_open_socket(const char *path, struct otx_port *port, char *why, size_t size) {
    struct otx_drive *drive = NULL;
    const int error = otx_connect(path, false, &drive, why, size);
    if (error) return error;
    *port = (struct otx_port){.methods = &methods,
                              .context = drive,
                              .lbas = otx_about(drive)->lbas,
                              .tx_entries = otx_about(drive)->tx_entries};
    return 0;
}
