/** The seam below the publisher: an event that is to be stored, and the store that gets it. */

/** An event that is to be stored. Engines add the fields that they need. */
export interface OutgoingEvent {
  readonly pattern: string
  /** The address to which the event is published. */
  readonly address: string
  /** Size of the event in bytes. */
  readonly size: number
  readonly id: string
  /** The id was generated here, so a duplicate can only be an event that this publisher has sent twice. */
  readonly isOwnId: boolean
  /**
   * The time from which on the event is delivered, in milliseconds since 1970. Only if the store keeps events until then.
   * Default: now.
   */
  readonly due?: number | undefined
  /** The same time by `performance.now()`, if it was given as a delay: the wall clock may be set meanwhile. */
  readonly steadyDue?: number | undefined
  /** Milliseconds for publishing; 0: no limit. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/**
 * The milliseconds that are left of the delay of an event; `undefined`: it has none. They are for a server that counts by
 * its own clock, which may differ from that of this process.
 */
export function delayLeft({ steadyDue }: Pick<OutgoingEvent, 'steadyDue'>): number | undefined {
  return steadyDue === undefined ? undefined : Math.max(0, Math.ceil(steadyDue - performance.now()))
}

/** The methods of a connection to an engine that a publisher needs. */
export interface Store<Event extends OutgoingEvent> {
  readonly isConnected: boolean
  /** The largest event in bytes. */
  readonly maxPayload: number
  /**
   * Sends an event. The engine answers in the order of sending, by `stored`, `refused`, `missing` or `held` of
   * the publisher.
   * If an event with the same id was sent before, the engine must not store it twice. So a store that sends later than
   * it is told to leaves out events that have ended meanwhile (`sentEvent`), and what recognizes a copy is kept as long
   * as one may wait or be under way: a restored connection appends events whose answers are about to arrive.
   */
  append(event: Event, number: number): void
  /**
   * Opens another way to the engine, which may be free while the one in use is blocked. Is called when nothing was
   * confirmed for 5 s; afterwards the events are sent again.
   */
  reopen?(): Promise<void>
}

/** Options of a publisher that depend on its engine. */
export interface PublisherOptions {
  /** The name of the engine in errors, such as `'NATS'`. */
  readonly title: string
  /** Makes sure that events published to an address are stored. Default: they always are. */
  ensure?(address: string): Promise<void>
  /** Milliseconds within which the engine stores an id only once. */
  readonly duplicateWindow: number
  /** Most events that are not confirmed yet. Default: 512. */
  readonly window?: number
  /**
   * The engine itself refuses an event if it lacks the one before it, and expects lost events again in the same groups,
   * so no event is sent alone after a restart.
   */
  readonly refusesGaps?: true
  /** Why the engine holds events, as a sentence. Default: it holds none. */
  readonly holding?: string
  /** Why the server takes no events at the moment, as a sentence; `undefined`: it takes events, or does not tell. */
  halted?(): string | undefined
}
