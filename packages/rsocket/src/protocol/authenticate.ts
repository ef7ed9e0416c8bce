/** The hook that accepts or refuses a peer by its credentials. */
import type { Peer } from '@elysia-microservices/transport/kit'
import type { Credentials } from './composite-metadata.ts'

/** The data for authenticating a peer, or one of its requests. */
export interface AuthenticationRequest {
  /** The credentials that the peer has sent; `undefined` if it has sent none. */
  readonly credentials: Credentials | undefined
  /** The route of a request; `undefined` if the whole connection is authenticated. */
  readonly route: string | undefined
  readonly peer: Peer | undefined
}

/**
 * Accepts a peer and names its user. A transport whose connections belong to users returns an `Accepted` from its hook
 * instead of `true`. Then only the same user can resume a lost connection.
 */
export class Accepted {
  /** @param user the name of the user, for `peer.user` of messages */
  constructor(readonly user: string) {}
}

/** `true` and `Accepted` accept the peer; `false` refuses it. */
export type Verdict = boolean | Accepted

/** Returns or resolves with `true` to accept a peer. Any other result, or an error, refuses the peer. */
export type Authenticate = (request: AuthenticationRequest) => boolean | Promise<boolean>

/** Authenticates a peer like `Authenticate`, on a transport that knows users. */
export type Judge = (request: AuthenticationRequest) => Verdict | Promise<Verdict>

/**
 * Reads the verdict in the result of a hook. Only `true` and `Accepted` accept, so a hook that returns nothing refuses.
 */
export function verdictOf(said: unknown): Verdict {
  return said instanceof Accepted ? said : said === true
}
