/** What the closed loop needs of a client, whoever made it. One `EchoClient` is one connection. */

export const methods = ['request', 'send'] as const
/** How our own client asks: a promise, or a cold Observable. Other clients have one way only. */
export type Method = (typeof methods)[number]

export const protocols = ['rsocket', 'nest'] as const
/** What our own client speaks. Other clients have one protocol only. */
export type Protocol = (typeof protocols)[number]

/** How our own client is made and used. */
export interface OwnClientOptions {
  readonly method: Method
  readonly protocol: Protocol
}

export interface EchoClient {
  /** Sends one request. One of the two callbacks is called, once. */
  echo(payload: string, answered: (answer: unknown) => void, failed: (reason: unknown) => void): void
  close(): Promise<void>
}

/** Connects; rejects when the server cannot be reached. */
export type OpenEchoClient = (host: string, port: number, own: OwnClientOptions) => Promise<EchoClient>
