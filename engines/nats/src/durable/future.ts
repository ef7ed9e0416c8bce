/** The events of the future in NATS. */
import { readableContentOf } from '@elysia-microservices/engine'
import {
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  type Published,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { StoredMsg } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import { isMissing, isNoSequence, readableError } from './jetstream-errors.ts'
import { decoded, HEADER, idFromHeader, LATER, LATER_STREAM, waitingSubject } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { ownHeaders } from './stored.ts'
import { dueIn, hastened, patternInSubject, waitingAddress } from './waiting.ts'

/** Attempts to change an event that others change at the same time. */
const ATTEMPTS = 5

export interface FutureOptions {
  jetStream(): Promise<JetStream>
  /** The time of the server in milliseconds since 1970. */
  now(): Promise<number>
  publish(event: Omit<StoredMessage, 'timeout' | 'signal'>): Promise<Published>
}

/** An event that waits, as it is found. */
interface Found {
  readonly sequence: number
  readonly due: number
  readonly id: string
}

/** Reads and changes events that wait; nothing is kept in memory. */
export class NatsFuture implements FutureEvents {
  readonly #options: FutureOptions

  constructor(options: FutureOptions) {
    this.#options = options
  }

  now(): Promise<number> {
    return this.#options.now()
  }

  cancel(pattern: Pattern, id: string): Promise<boolean> {
    return this.#change(routeOf(pattern), id, async (jetStream, { seq }) => {
      try {
        return await jetStream.deleteMessage(LATER_STREAM, seq)
      } catch (error) {
        if (isMissing(error) || isNoSequence(error)) return false
        throw readableError(error, `The event '${id}'`)
      }
    })
  }

  fire(pattern: Pattern, id: string): Promise<boolean> {
    const route = routeOf(pattern)
    return this.#change(route, id, async (_, { seq, subject, data, header }) => {
      const { duplicate } = await this.#options.publish({
        pattern: route,
        address: waitingAddress(route),
        subject,
        payload: data,
        size: data.length,
        headers: hastened(header, seq),
        id,
        isOwnId: false
      })
      return !duplicate
    })
  }

  /**
   * Changes an event that waits.
   * @param change returns false if the event is not the one that was read any more
   * @returns false if it does not wait
   */
  async #change(
    route: string,
    id: string,
    change: (jetStream: JetStream, waiting: StoredMsg) => Promise<boolean>
  ): Promise<boolean> {
    // A subject with wildcards would find the event of another pattern.
    if (/[*>]/.test(route)) return false
    const jetStream = await this.#options.jetStream()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const waiting = await this.#next(jetStream, 1, waitingSubject(route, id))
      if (waiting === undefined || dueIn(waiting.header) === undefined) return false
      if (await change(jetStream, waiting)) return true
    }
    return false
  }

  async *list({
    pattern,
    limit = Number.POSITIVE_INFINITY
  }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const jetStream = await this.#options.jetStream()
    let left = limit
    for (const { sequence } of await this.#found(
      jetStream,
      pattern === undefined ? undefined : routeOf(pattern)
    )) {
      if (left <= 0) return
      const waiting = await this.#next(jetStream, sequence)
      // It may have come meanwhile.
      if (waiting === undefined) continue
      left--
      yield shown(waiting)
    }
  }

  /** All events that wait, the soonest first. */
  async #found(jetStream: JetStream, route: string | undefined): Promise<readonly Found[]> {
    const subject = route === undefined ? `${LATER}.>` : `${LATER}.*.${route}`
    const found: Found[] = []
    for (let sequence = 1; ; ) {
      const waiting = await this.#next(jetStream, sequence, subject)
      if (waiting === undefined) break
      const due = dueIn(waiting.header)
      const isIt = route === undefined || patternInSubject(waiting.subject) === route
      if (due !== undefined && isIt)
        found.push({ sequence: waiting.seq, due, id: waiting.header.get(HEADER.ownId) })
      sequence = waiting.seq + 1
    }
    return found.sort((one, other) => one.due - other.due || (one.id < other.id ? -1 : 1))
  }

  /** The message with a number, or the first one from that number on at a subject. */
  async #next(jetStream: JetStream, sequence: number, subject?: string): Promise<StoredMsg | undefined> {
    const query = subject === undefined ? { seq: sequence } : { seq: sequence, next_by_subj: subject }
    try {
      return (await jetStream.message(LATER_STREAM, query)) ?? undefined
    } catch (error) {
      if (isMissing(error)) return undefined
      throw readableError(error, 'The events that wait')
    }
  }
}

function shown({ subject, header, data }: StoredMsg): WaitingEvent {
  const key = header.get(HEADER.key)
  return {
    pattern: patternInSubject(subject),
    id: idFromHeader(header.get(HEADER.ownId)),
    key: key === '' ? undefined : decoded(key),
    at: new Date(dueIn(header) ?? 0),
    headers: ownHeaders(header) ?? {},
    data: readableContentOf(data).data
  }
}
