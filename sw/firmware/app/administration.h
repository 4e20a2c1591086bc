/* SPDX-License-Identifier: Apache-2.0 */
/* The NVMe front end's administration in the main loop: what nvme/ is told of the drive. Nothing on a drive without
 * that front end. */
#ifndef ADMINISTRATION_H
#define ADMINISTRATION_H

#include "ftl.h"

/* After the mount; `read_only`: the drive takes no writes. */
void administration_begin(const struct ftl *f, bool read_only);
/* One round of the main loop. */
void administration_step(const struct ftl *f);
/* There will be no drive: hosts are told. */
void administration_fail(void);

#endif
