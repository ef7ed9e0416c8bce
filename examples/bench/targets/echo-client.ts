/** What the closed loop needs of a client, whoever made it. One `EchoClient` is one connection. */

export const methods = ['request', 'send'] as const
/** How our own client asks: a promise, or a cold Observable. Other clients have one way only. */
export type Method = (typeof methods)[number]

export interface EchoClient {
  /** Sends one request. One of the two callbacks is called, once. */
  echo(payload: string, answered: (answer: unknown) => void, failed: (reason: unknown) => void): void
  close(): Promise<void>
}

/** Connects; rejects when the server cannot be reached. */
export type OpenEchoClient = (host: string, port: number, method: Method) => Promise<EchoClient>
