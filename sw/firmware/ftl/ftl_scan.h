/* SPDX-License-Identifier: Apache-2.0 */
/* First contact: every die is reset and says who it is. */
#ifndef FTL_SCAN_H
#define FTL_SCAN_H

#include "ftl.h"

/* FTL_ERR_DIE: die report.die does not answer, or its ID is not geometry.nand_id. */
FTL_MUST_CHECK enum ftl_error ftl_scan(struct ftl *f);

#endif
