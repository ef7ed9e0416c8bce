/** The other end of a connection as handlers see it. */
import type { Caller, Peer, PeerCertificate } from '@elysia-microservices/transport/kit'
import type { Session } from './session.ts'

/** The peer of one connection. */
export class SessionPeer implements Peer {
  readonly #session: Session
  readonly #caller: (() => Caller) | undefined

  /** @param caller `undefined` where the protocol cannot call the other side */
  constructor(session: Session, caller?: () => Caller) {
    this.#session = session
    this.#caller = caller
  }

  get address(): string | undefined {
    return this.#session.socket.remoteAddress
  }

  get port(): number | undefined {
    return this.#session.socket.remotePort
  }

  get certificate(): PeerCertificate | undefined {
    return this.#session.socket.certificate
  }

  get caller(): Caller | undefined {
    return this.#caller?.()
  }

  disconnect(): void {
    this.#session.destroy()
  }
}
