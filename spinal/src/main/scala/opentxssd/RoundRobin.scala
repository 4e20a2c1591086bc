// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

/** Whose turn it is among a few, as a sum of products: without the carry chain of `OHMasking.roundRobin`, which is as
  * long as two times their number.
  */
object RoundRobin {

  /** One hot: of those that ask the first one behind `last`, which is one hot; 0 when nobody asks. */
  def apply(asks: Bits, last: Bits): Bits = {
    val n = asks.getWidth
    Vec((0 until n).map { i =>
      val none = (1 to n).map(d => (1 until d).map(k => !asks((i - k + n) % n)).foldLeft(True: Bool)(_ && _))
      asks(i) && (1 to n).map(d => last((i - d + n) % n) && none(d - 1)).reduce(_ || _)
    }).asBits
  }
}
