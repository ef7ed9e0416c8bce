/**
 * The dead letters of one group. They are kept in a stream of their own, from which they are redriven to the group.
 */
import { patternOf, readableContentOf } from '@elysia-microservices/engine'
import {
  type DeadLetter,
  type DeadLetters,
  EventRefusedError,
  type ListDeadLettersOptions
} from '@elysia-microservices/transport/kit'
import type { StoredMsg } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { JetStream } from '../driver.ts'
import { isMissing, isNoSequence, readableError } from './jetstream-errors.ts'
import { AGAIN, DEAD, DEAD_STREAM, decoded, HEADER, idFromHeader } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { ownHeaders } from './stored.ts'

export interface DeadLettersOptions {
  jetStream(): Promise<JetStream>
  /** Creates the streams of dead letters if they are missing. */
  ensure(): Promise<void>
  publish(event: Omit<StoredMessage, 'timeout' | 'signal'>): Promise<void>
}

/** Reads and changes dead letters at the server; nothing is kept in this process. */
export class NatsDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #options: DeadLettersOptions

  constructor(group: string, options: DeadLettersOptions) {
    this.#group = group
    this.#options = options
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    await this.#options.ensure()
    let sequence = 1
    for (let count = 0; count < limit; count++) {
      const next = await this.#get({ seq: sequence, next_by_subj: `${DEAD}.${this.#group}.>` })
      if (next === undefined) return
      yield this.#shown(next)
      sequence = next.seq + 1
    }
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    const stored = await this.#at(position)
    return stored && this.#shown(stored)
  }

  async redrive(position: string): Promise<boolean> {
    const stored = await this.#at(position)
    if (stored === undefined) return false
    if (leftOutOf(stored)?.includes('data') === true)
      throw new EventRefusedError(
        `The dead letter ${position} cannot be redriven: its data were too large to be kept. The event itself was stored at position ${stored.header.get(HEADER.position)} of its stream`
      )
    const headers = newHeaders()
    for (const name of stored.header.keys())
      for (const value of stored.header.values(name)) headers.append(name, value)
    const id = `redrive-${stored.seq}-${stored.time.getTime()}`
    headers.set(HEADER.id, id)
    const subject = `${AGAIN}.${headers.get(HEADER.consumer)}`
    // The event is published first, and its dead letter deleted afterwards. If the process ends in between, the event
    // may be redriven twice, but is never lost.
    await this.#options.publish({
      pattern: subject,
      address: subject,
      payload: stored.data,
      size: stored.data.length,
      headers,
      id,
      isOwnId: false
    })
    return this.discard(position)
  }

  async discard(position: string): Promise<boolean> {
    const stored = await this.#at(position)
    if (stored === undefined) return false
    const jetStream = await this.#options.jetStream()
    try {
      return await jetStream.deleteMessage(DEAD_STREAM, stored.seq)
    } catch (error) {
      // Another process has redriven or deleted the dead letter in between.
      if (isMissing(error) || isNoSequence(error)) return false
      throw readableError(error, `The dead letter ${position}`)
    }
  }

  async #at(position: string): Promise<StoredMsg | undefined> {
    const seq = Number(position)
    if (!Number.isSafeInteger(seq) || seq < 1) return undefined
    await this.#options.ensure()
    const stored = await this.#get({ seq })
    return stored?.subject.startsWith(`${DEAD}.${this.#group}.`) === true ? stored : undefined
  }

  async #get(query: { seq: number; next_by_subj?: string }): Promise<StoredMsg | undefined> {
    const jetStream = await this.#options.jetStream()
    try {
      return (await jetStream.message(DEAD_STREAM, query)) ?? undefined
    } catch (error) {
      // There is no such dead letter (404), or no further one.
      if (isMissing(error)) return undefined
      throw readableError(error, `The dead letters of the group '${this.#group}'`)
    }
  }

  #shown(letter: StoredMsg): DeadLetter {
    const { seq, header, data, time } = letter
    const leftOut = leftOutOf(letter)
    const content = readableContentOf(data)
    const key = header.get(HEADER.key)
    return {
      position: String(seq),
      group: this.#group,
      pattern: patternOf(content.pattern, header.get(HEADER.subject)),
      id: idFromHeader(header.get(HEADER.ownId)),
      key: key === '' ? undefined : decoded(key),
      reason: decoded(header.get(HEADER.reason)),
      attempts: Number(header.get(HEADER.attempts)),
      headers: ownHeaders(header) ?? {},
      data: content.data,
      publishedAt: new Date(Number(header.get(HEADER.publishedAt))),
      diedAt: time,
      ...(leftOut !== undefined && { leftOut })
    }
  }
}

/** The names of the parts that the dead letter lacks; `undefined`: it lacks none. */
function leftOutOf({ header }: StoredMsg): readonly string[] | undefined {
  const said = header.get(HEADER.leftOut)
  if (said === '') return undefined
  try {
    const names: unknown = JSON.parse(decodeURIComponent(said))
    return Array.isArray(names) ? names.map(String) : undefined
  } catch {
    return undefined
  }
}
