/** Who a peer is: the hook that decides it, and what its verdicts mean. */
import type { Peer } from '@elysia-microservices/transport/kit'
import type { Credentials } from './composite-metadata.ts'

/** A peer, or a request of it, that says who it is. */
export interface AuthenticationRequest {
  /** What came as authentication metadata; `undefined` if nothing came. */
  readonly credentials: Credentials | undefined
  /** The route, when a request is asked about; `undefined` for the connection as a whole. */
  readonly route: string | undefined
  readonly peer: Peer | undefined
}

/** `true` lets the peer in; everything else refuses it. */
export type Verdict = boolean

/** Says `true`, now or later, to let a peer in. Anything else, and throwing, refuses it. */
export type Authenticate = (request: AuthenticationRequest) => Verdict | Promise<Verdict>

/** Whether a verdict lets in: a hook that forgets to return lets nobody in. */
export function isAccepted(verdict: unknown): boolean {
  return verdict === true
}
