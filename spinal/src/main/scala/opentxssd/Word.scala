// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

/** Map word, location or chain link: kind and 30-bit value. */
case class Word() extends Bundle {
  val value = UInt(Number.WORD_VALUE_BITS bits)
  val kind = UInt(2 bits)
  def isNone: Bool = kind === WordKind.NONE
  def isNand: Bool = kind === WordKind.NAND
  def isBuf: Bool = kind === WordKind.BUF
  def isVer: Bool = kind === WordKind.VER
}

object Word {
  def apply(kind: Int, value: UInt): Word = {
    val w = Word()
    w.kind := kind
    w.value := value.resized
    w
  }
  def none: Word = Word(WordKind.NONE, U(0, Number.WORD_VALUE_BITS bits))
}

object StatusCode {

  /** A code of `Status` as completions have it. */
  def apply(code: Int): UInt = U(code, 4 bits)
}

object TxStates {

  /** COMMITTED or ABORTED: a walk empties its table. */
  def isDraining(state: UInt): Bool = state.msb
}
