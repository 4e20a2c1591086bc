// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

/** Names of ports that come in a bundle. */
object Ports {

  /** Each has its own name, without that of the bundle. Also for a bundle in a bundle. */
  def bare[T <: Data](ports: T): T = {
    ports.setName("")
    ports
  }

  /** The same, but a name is written as `snake_case`, up to its stream's `_valid`, `_ready` or `_payload`. */
  def snake[T <: Data](ports: T): T = {
    bare(ports)
    Component.current.addPrePopTask { () =>
      for (port <- ports.flatten) {
        val (name, rest) = port.getName().span(_ != '_')
        port.setName(name.replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase + rest)
      }
    }
    ports
  }
}
