/**
 * What a session expects of a protocol, and a protocol of its session. Protocols are sans-I/O: they get
 * chunks and return text through `Output`; sockets, timers and ticks belong to the session.
 */

/** One connection as its protocol sees it: chunks in, calls out. */
export interface ProtocolConnection {
  /**
   * Takes what was read, in any division.
   * @throws {ProtocolError | PayloadTooLargeError} what arrived is not allowed; the session ends the connection
   */
  receive(chunk: Uint8Array): void
  /** Written bytes have left, `Output.blocked` is false again: goes on with what was held back. Throws as `receive`. */
  resume(): void
  /** A message has begun to arrive and is not complete. */
  readonly incomplete: boolean
  /** Characters received and not yet handled. */
  readonly buffered: number
  /** Requests and events whose handling has not ended. */
  readonly inFlight: number
  /** The connection is gone: fails what is pending, stops what is running. Called once. */
  close(reason?: Error): void
}

/** The way out of a protocol: its session collects and writes. */
export interface Output {
  /** Queues text for the peer. Everything queued in one turn leaves in one write. */
  send(text: string): void
  /** What is queued and has not reached the kernel: bytes, or characters not yet made bytes. */
  readonly unsent: number
  /** The peer does not take what was written: start no new work until `resume`. */
  readonly blocked: boolean
  /** A request or an event that took more than a turn has ended: `inFlight` is one less. */
  settled(): void
  /** Runs `task` once the current turn, promises included, is over. */
  defer(task: () => void): void
  /** `undefined` while a stream may go on at once; else a promise for the moment when it may. */
  ready(): Promise<void> | undefined
}
