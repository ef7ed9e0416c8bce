/**
 * Ends the sockets of attempts to connect, which NATS's own driver leaves open when it gives up a server that accepts
 * connections and says nothing: they would keep the process from ending.
 */
import { unlessAborted } from '@elysia-microservices/transport/kit'
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'

/** The parts of the driver's connection to one server that are changed here. */
interface Attempt {
  readonly connected: boolean
  connect(server: object, options: { readonly signal?: AbortSignal }): Promise<void>
  close(error?: Error): Promise<void>
  /** Destroys the socket. */
  discard(): void
}

let isChanged = false

/**
 * Changes the class of the driver's connections, once: an attempt that fails is discarded, and so is one whose option
 * `signal` aborts, which the driver passes on although its types lack it.
 */
export function giveUpAttempts(): void {
  if (isChanged) return
  isChanged = true
  const attempts = NodeTransport.prototype as unknown as Attempt
  const { connect, close } = attempts
  attempts.connect = function (server, options) {
    return unlessAborted(connect.call(this, server, options), options.signal, () => this.discard())
  }
  attempts.close = function (error) {
    if (!this.connected) this.discard()
    return close.call(this, error)
  }
}
