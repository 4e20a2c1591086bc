/* SPDX-License-Identifier: Apache-2.0 */
/* Directive Send and Receive (section 9): which directives there are, and streams on and off. Streams need nothing to
 * be opened: each of 65,535 identifiers may be used at any time, and none is ever released. */
#ifndef NVME_DIRECTIVES_H
#define NVME_DIRECTIVES_H

#include "nvme.h"

struct nvme_answer nvme_directive_send(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_directive_receive(struct nvme *n, const struct nvme_command *c);

#endif
