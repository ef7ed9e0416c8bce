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

/**
 * A peer that is let in, and who it is. A transport whose connections belong to users has its hook return one in place
 * of `true`; a lost connection is then resumed by the same user only.
 */
export class Accepted {
  /** @param user names the user, for `peer.user` of messages */
  constructor(readonly user: string) {}
}

/** `true` and `Accepted` let the peer in; anything else refuses it. */
export type Verdict = boolean | Accepted

/** Returns or resolves with `true` to accept a peer. Any other result, and throwing, refuses it. */
export type Authenticate = (request: AuthenticationRequest) => boolean | Promise<boolean>

/** The same of a transport that knows users. */
export type Judge = (request: AuthenticationRequest) => Verdict | Promise<Verdict>

/** The verdict of a hook, by what it returned. Only `true` and `Accepted` let in: one that returns nothing does not. */
export function verdictOf(said: unknown): Verdict {
  return said instanceof Accepted ? said : said === true
}
