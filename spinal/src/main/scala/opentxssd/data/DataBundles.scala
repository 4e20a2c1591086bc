// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._

// What firmware and the data path tell each other (PageMove is one of soc/facts.toml). What each field means is in docs/interfaces.md.

/** What the last recovery could not bring back: QUERY answers it. */
case class RecoveryLoss() extends Bundle {
  val dropped, lostLogPages, doubtful = UInt(32 bits)
}

/** NAND pages that fell out of use, COMMITs that completed. */
case class DataCounters() extends Bundle {
  val releasedPages, commits = UInt(32 bits)
}
