/** The hook that accepts or refuses a peer by its credentials. */
import { type Peer, UnauthenticatedError } from '@elysia-microservices/transport/kit'
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
 * Accepts a peer and names its user. The result of `authenticate` is one where it names a user. Then only the same user can resume a lost connection.
 */
export class Accepted {
  /** @param user the name of the user, for `peer.user` of messages */
  constructor(readonly user: string) {}
}

/** `true` and `Accepted` accept the peer; `false` refuses it. */
export type Verdict = boolean | Accepted

/** The identity of a peer. */
export interface User {
  /**
   * The name of the user, which messages have as `peer.user`. Over WebSocket, a lost connection can only be resumed by
   * the same user.
   */
  readonly user: string
}

/**
 * The result of `authenticate`: `true` or a user accepts the peer, anything else refuses it. An error refuses it, too,
 * and is logged.
 */
export type Authentication = boolean | User | undefined

/** Decides about a peer, or about one of its requests that has its own credentials. */
export type Authenticate = (request: AuthenticationRequest) => Authentication | Promise<Authentication>

/** Authenticates a peer, as the protocol needs it. */
export type Judge = (
  request: AuthenticationRequest
) => Authentication | Verdict | Promise<Authentication | Verdict>

/**
 * Reads the verdict in the result of a hook. Only `true` and a user accept, so a hook that returns nothing refuses.
 */
export function verdictOf(said: unknown): Verdict {
  if (said === true || said instanceof Accepted) return said
  const { user } = Object(said) as { user?: unknown }
  return typeof user === 'string' && new Accepted(user)
}

/**
 * Lets a request run that has its own credentials. Without a hook every request may.
 * @throws {UnauthenticatedError} its credentials are refused
 */
export async function admit(judge: Judge | undefined, request: AuthenticationRequest): Promise<void> {
  if (judge !== undefined && verdictOf(await judge(request)) === false)
    throw new UnauthenticatedError('The credentials are not accepted')
}
