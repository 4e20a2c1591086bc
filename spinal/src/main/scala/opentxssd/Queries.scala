// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

/** Which numbers QUERY answers: those of `Query`, and 32 from HEALTH on. */
object Queries {
  def isHealth(arg: UInt): Bool = (arg >> 5) === Query.HEALTH >> 5
  def isUnknown(arg: UInt): Bool = arg > Query.DOUBTFUL && !isHealth(arg)
}
