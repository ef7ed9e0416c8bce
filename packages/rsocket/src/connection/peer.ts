/** The other end of a connection, as handlers get it. */
import type { Caller, Peer, PeerCertificate } from '@elysia-microservices/transport/kit'
import type { Output } from './protocol.ts'

/** A connection that has a peer. */
export interface PeerSide {
  /** The output to the peer; `undefined` while a lost connection waits to be resumed over another socket. */
  readonly output: Output | undefined
  /** Makes calls to the peer; `undefined` if the protocol does not allow calls, or before the connection is set up. */
  readonly caller?: Caller | undefined
  /** The user; `undefined` if authentication identifies none, or before the connection is set up. */
  readonly user?: string | undefined
  /** The name of the peer; `undefined` if the peer sends none, or before the connection is set up. */
  readonly name?: string | undefined
}

/** The peer of one connection. */
export class ConnectionPeer implements Peer {
  readonly #side: PeerSide

  constructor(side: PeerSide) {
    this.#side = side
  }

  get address(): string | undefined {
    return this.#side.output?.remote.remoteAddress
  }

  get port(): number | undefined {
    return this.#side.output?.remote.remotePort
  }

  get certificate(): PeerCertificate | undefined {
    return this.#side.output?.remote.certificate
  }

  get user(): string | undefined {
    return this.#side.user
  }

  get name(): string | undefined {
    return this.#side.name
  }

  get caller(): Caller | undefined {
    return this.#side.caller
  }

  disconnect(): void {
    this.#side.output?.destroy()
  }
}
