// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._

// What firmware and the data path tell each other. What each field means is in docs/interfaces.md.

/** A page that firmware has copied: {lpn} is at `target` as well as at `source`, with `sequence` in the copy's OOB. */
case class PageMove() extends Bundle {
  val lpn = UInt(32 bits)
  val source, target = UInt(30 bits)
  val sequence = UInt(48 bits)
}

/** What the last recovery could not bring back: QUERY answers it. */
case class RecoveryLoss() extends Bundle {
  val dropped, lostLogPages, doubtful = UInt(32 bits)
}

/** NAND pages that fell out of use, COMMITs that completed. */
case class DataCounters() extends Bundle {
  val releasedPages, commits = UInt(32 bits)
}
