// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

/** Priority classes in the order of their urgency. */
object ClassRank {

  /** LOW 0, MEDIUM 1, HIGH 2, URGENT 3, of the number of a class; and that number of these. */
  def apply(n: UInt): UInt = (n(1) ## !(n(1) ^ n(0))).asUInt
}
