// SPDX-License-Identifier: Apache-2.0
// Which way leads to the drive at a path: a socket, or a device of Linux. The drive's identity is that of the file.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "otx.h"
#include "otx_port.h"

int otx_port_open_any(const char *path, struct otx_port *port, char *why, size_t size) {
    struct stat is;
    if (stat(path, &is)) {
        snprintf(why, size, "%s: %s", path, strerror(errno));
        return OTX_ERROR_CONNECT;
    }
    const int device = S_ISBLK(is.st_mode) || S_ISCHR(is.st_mode);
    if (!device && !S_ISSOCK(is.st_mode)) {
        snprintf(why, size, "%s is neither a command socket nor a device", path);
        return OTX_ERROR_CONNECT;
    }
    const int error = device ? otx_port_open_nvme(path, port, why, size) : otx_port_open_socket(path, port, why, size);
    if (!error && !*port->identity)
        snprintf(port->identity, sizeof port->identity, "file %lx:%lx", (unsigned long)is.st_dev,
                 (unsigned long)is.st_ino);
    return error;
}
