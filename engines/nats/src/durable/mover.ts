/**
 * Stores events whose time has come for their groups. The server has put each where nobody but this library looks, without
 * its id. A process with a durable handler for its pattern moves it to the stream of its pattern: with its id, so that it
 * is there once, however often and by which process it was moved.
 */
import { type Publisher, repeat } from '@elysia-microservices/engine'
import { type Logger, quietLog, routeMatches } from '@elysia-microservices/transport/kit'
import { JetStreamApiError, type StoredMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { DriverSubscription, JetStream } from '../driver.ts'
import { isMissing, isNoSequence } from './jetstream-errors.ts'
import { askLater } from './later-stream.ts'
import { DUE, HEADER, idFromHeader, LATER_STREAM, WAKE, waitingSubject } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { comeHeaders, markFor, waitingAddress } from './waiting.ts'

/** Milliseconds between looks at what nobody has moved, for instance because its process ended. */
const LOOK = 5_000
/** While no event waits anywhere, one look in so many is made. */
const ONE_IN = 6
/** Most events, and bytes of events, that are moved at a time. */
const MOST = 64
const MOST_SIZE = 4 * 1024 * 1024
/** The share of the window of ids in which an event must be moved that was read. */
const IN_TIME = 0.4
/** The processes with a handler for a pattern: one of them is told that events of it have come. */
const QUEUE = 'elysia'

export interface MoverOptions {
  readonly publisher: Publisher<StoredMessage>
  /** Milliseconds within which a stream stores an id once. */
  readonly window: number
  readonly logger: Logger
}

/** The place where a mover works. */
interface Place {
  readonly connection: NatsConnection
  readonly jetStream: JetStream
  readonly subscriptions: readonly DriverSubscription[]
  /** Whether this user may delete what is moved: it would come again when its id is forgotten. */
  mayDelete: boolean
}

/** Moves the events of the patterns that a process handles. */
export class Mover {
  readonly #options: MoverOptions
  readonly #patterns = new Set<string>()
  /** The subjects of events to look at. */
  readonly #due = new Set<string>()
  #place: Place | undefined
  #isMoving = false
  /** Whether no event waited at the last look, and the looks that were left out since. */
  #isEmpty = false
  #leftOut = 0
  #endLooks: (() => void) | undefined

  constructor(options: MoverOptions) {
    this.#options = options
  }

  /** A durable handler has a pattern, which may have wildcards. */
  add(pattern: string): void {
    this.#patterns.add(pattern)
  }

  /** Begins on a connection. */
  attach(connection: NatsConnection, jetStream: JetStream): void {
    if (this.#place?.connection === connection) return
    this.detach()
    const subscriptions = [...this.#patterns].map((pattern) =>
      connection.subscribeIfAllowed(`${WAKE}.${pattern}`, QUEUE, (error, { subject }) => {
        // Without the right to be told, the process looks from time to time.
        if (error === null) this.#come(subject.slice(WAKE.length + 1))
      })
    )
    this.#place = { connection, jetStream, subscriptions, mayDelete: false }
    this.#endLooks = repeat(() => this.lookAgain(), LOOK)
    void this.look()
  }

  /**
   * Looks from time to time, and seldom while nothing waits: then an event that comes within half a minute may be stored
   * half a minute late, if the process that moves it is killed.
   */
  lookAgain(): void {
    if (this.#isEmpty && ++this.#leftOut < ONE_IN) return
    this.#leftOut = 0
    void this.look()
  }

  /** The connection has ended. */
  detach(): void {
    this.#endLooks?.()
    this.#endLooks = undefined
    for (const one of this.#place?.subscriptions ?? []) one.unsubscribe()
    this.#place = undefined
    this.#due.clear()
  }

  /** Looks at events that have come and are still there. */
  async look(): Promise<void> {
    const place = this.#place
    if (place?.connection.isConnected !== true || this.#isMoving) return
    // Without an answer, the next look asks again.
    const { due, isEmpty } = await askLater(place.jetStream).catch(() => ({ due: [], isEmpty: false }))
    this.#isEmpty = isEmpty
    for (const subject of due) {
      const pattern = subject.slice(DUE.length + 1)
      if (place === this.#place && this.#handles(pattern)) this.#come(pattern)
    }
  }

  #handles(pattern: string): boolean {
    for (const one of this.#patterns) if (one === pattern || routeMatches(one, pattern)) return true
    return false
  }

  /** Events of a pattern have come. */
  #come(pattern: string): void {
    this.#isEmpty = false
    this.#due.add(pattern)
    if (this.#isMoving) return
    this.#isMoving = true
    void this.#run().finally(() => {
      this.#isMoving = false
    })
  }

  async #run(): Promise<void> {
    for (const pattern of this.#due) {
      this.#due.delete(pattern)
      try {
        await this.#moveAll(pattern)
      } catch (error) {
        this.#warn(pattern, error)
      }
    }
  }

  #warn(pattern: string, error: unknown): void {
    // Events that are on their way when the server is lost or the service stops are moved later, or by others.
    if (this.#place?.connection.isConnected !== true) return
    quietLog(this.#options.logger).warn(
      'moved',
      `Events '${pattern}' whose time has come are not stored yet; they are tried again every ${LOOK / 1_000} seconds`,
      error
    )
  }

  async #moveAll(pattern: string): Promise<void> {
    if (this.#place?.mayDelete === false) await mayDelete(this.#place)
    for (let sequence = 1; this.#place !== undefined; ) {
      const readAt = performance.now()
      const events = await this.#read(this.#place, pattern, sequence)
      const last = events.at(-1)
      if (last === undefined) return
      await this.#move(this.#place, pattern, events, readAt)
      sequence = last.seq + 1
    }
  }

  async #read({ jetStream }: Place, pattern: string, from: number): Promise<readonly StoredMsg[]> {
    const events: StoredMsg[] = []
    let size = 0
    for (let sequence = from; events.length < MOST && size < MOST_SIZE; ) {
      const query = { seq: sequence, next_by_subj: `${DUE}.${pattern}` }
      const next = await jetStream.message(LATER_STREAM, query).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
      if (!next) break
      events.push(next)
      size += next.data.length
      sequence = next.seq + 1
    }
    return events
  }

  async #move(place: Place, pattern: string, events: readonly StoredMsg[], readAt: number): Promise<void> {
    const { publisher, window } = this.#options
    const until = readAt + window * IN_TIME
    const timeout = () => Math.max(1, until - performance.now())
    // Nobody plans an event with the id of one that is there already.
    await Promise.all(events.map((event) => publisher.publish(this.#markOf(pattern, event, timeout()))))
    // This process has stood still: others have moved the events, and their ids may be forgotten soon.
    if (performance.now() > until) return
    const moved = events.map((event) => publisher.publish(movedOf(pattern, event, timeout())))
    const outcomes = await Promise.allSettled(moved)
    await Promise.all(
      outcomes.map(({ status }, at) =>
        status === 'fulfilled' ? forget(place.jetStream, events[at] as StoredMsg) : undefined
      )
    )
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) this.#warn(pattern, failed.reason)
  }

  #markOf(pattern: string, event: StoredMsg, timeout: number): StoredMessage {
    return {
      ...headOf(pattern, event, timeout),
      address: waitingAddress(pattern),
      subject: waitingSubject(pattern, idFromHeader(idOf(event))),
      payload: EMPTY,
      size: 0,
      headers: markFor(this.#options.window)
    }
  }
}

/** The number of an event that no stream has. */
const NONE = 2 ** 50
const EMPTY = new Uint8Array(0)

/** The id of an event that has come, as in a header. */
function idOf({ header, seq, time }: StoredMsg): string {
  return header.get(HEADER.ownId) || `${LATER_STREAM}:${seq}:${time.getTime()}`
}

function movedOf(pattern: string, event: StoredMsg, timeout: number): StoredMessage {
  const { data, header } = event
  return {
    ...headOf(pattern, event, timeout),
    address: pattern,
    payload: data,
    size: data.length,
    headers: comeHeaders(header, idOf(event))
  }
}

function headOf(pattern: string, event: StoredMsg, timeout: number) {
  return { pattern, id: idFromHeader(idOf(event)), isOwnId: false, timeout, signal: undefined }
}

/** Notes that this user may delete. @throws it may not, or nobody answers */
async function mayDelete(place: Place): Promise<void> {
  await place.jetStream.deleteMessage(LATER_STREAM, NONE).catch((error: unknown) => {
    if (!(error instanceof JetStreamApiError)) throw error
  })
  place.mayDelete = true
}

/** Deletes an event that is stored for its groups. */
async function forget(jetStream: JetStream, { seq }: StoredMsg): Promise<void> {
  await jetStream.deleteMessage(LATER_STREAM, seq).catch((error: unknown) => {
    if (!isMissing(error) && !isNoSequence(error)) throw error
  })
}
