/** The hook that accepts or refuses a peer by its credentials. */
import type { Peer } from '@elysia-microservices/transport/kit'
import type { Credentials } from './composite-metadata.ts'

/** A peer, or one of its requests, to be authenticated. */
export interface AuthenticationRequest {
  /** The credentials that the peer sent; `undefined` if none. */
  readonly credentials: Credentials | undefined
  /** The route of a request; `undefined` when the whole connection is authenticated. */
  readonly route: string | undefined
  readonly peer: Peer | undefined
}

/** `true` accepts the peer; anything else refuses it. */
export type Verdict = boolean

/** Returns or resolves with `true` to accept a peer. Any other result, and throwing, refuses it. */
export type Authenticate = (request: AuthenticationRequest) => Verdict | Promise<Verdict>

/** Whether a verdict accepts. Only `true` does, so a hook that forgets to return accepts nobody. */
export function isAccepted(verdict: unknown): boolean {
  return verdict === true
}
