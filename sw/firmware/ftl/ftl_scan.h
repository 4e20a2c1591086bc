/* SPDX-License-Identifier: Apache-2.0 */
/* First contact: every die is reset, says who it is and what it can do, and goes to the fastest timing mode.
 *
 * All in SDR timing mode 0 until every die is known: RESET, READ_ID, then the table of parts (ftl_part.h) or the ONFI
 * signature and the parameter page. All dies must be the same part, and one that this drive is built for.
 * Then the highest mode that part and board have, with SET FEATURES where the part lists it; a part whose own times the
 * controller was built for (geometry.nand_id) gets these instead. The ID is read again in the new mode; if any die
 * answers differently all go back to mode 0. The found part and mode are in f->report, of an error also the die. */
#ifndef FTL_SCAN_H
#define FTL_SCAN_H

#include "ftl.h"

/* Dies that do not answer are out (ftl_dies.h) if the geometry lets any be missing. FTL_ERR_DIE: nobody answers at die
 * report.die; at none, if any may be missing. FTL_ERR_PART: its ID (report.part.id) is not in the table, and it is not
 * ONFI. FTL_ERR_PARAM: its parameter page is unreadable. FTL_ERR_PARTS: it is another part than the first die is.
 * FTL_ERR_FIT: the part, report.part, is not one this drive is built for. FTL_ERR_MODE: in mode 0 again, it does not
 * answer as before. */
FTL_MUST_CHECK enum ftl_error ftl_scan(struct ftl *f);

#endif
