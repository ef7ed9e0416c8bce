/** Appends events to streams of JetStream. JetStream confirms each event by a message to an inbox. */
import { newSecret, numberIn, type Publisher, replyToken, type Store } from '@elysia-microservices/engine'
import { EventRefusedError, NotStoredError, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Message } from '../driver.ts'
import { mostOfHeaders, sizeOfHeaders } from '../words/headers.ts'
import { type PubAck, readPubAck } from '../words/pub-ack.ts'
import { adviceOnFull } from './full.ts'
import { LATER_STREAM } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import { ServerTime } from './server-time.ts'
import { timed } from './waiting.ts'

/** Bytes of a message that are reserved for headers and subjects. */
export const HEAD_ROOM = 4_096

/** Another publisher is storing the same id at this moment: the next attempt finds that the event is a duplicate. */
const IN_PROCESS = /duplicate message id is in process/i
/** An event with this id waits for its time, or has come lately. */
const IS_WAITING = 10_071

/** Publishes events over one connection. */
export class EventStore implements Store<StoredMessage> {
  readonly #connection: NatsConnection
  readonly #publisher: Publisher<StoredMessage>
  readonly #time: ServerTime
  readonly #inbox: string

  /** @param time of the server, by which events with a time become due */
  constructor(
    connection: NatsConnection,
    publisher: Publisher<StoredMessage>,
    time: ServerTime = new ServerTime()
  ) {
    this.#time = time
    this.#connection = connection
    this.#publisher = publisher
    this.#inbox = connection.newStoreInbox()
    connection.subscribe(`${this.#inbox}*`, undefined, (error, message) => {
      if (error === null) this.#confirmed(message)
    })
  }

  get isConnected(): boolean {
    return this.#connection.isConnected
  }

  get maxPayload(): number {
    return this.#connection.maxPayload - HEAD_ROOM
  }

  append(event: StoredMessage, number: number): void {
    const { payload, waitsFor } = event
    const { subject = event.address, headers } = waitsFor === undefined ? event : timed(event, this.#time)
    const { maxPayload } = this.#connection
    if (payload.length + mostOfHeaders(headers) > maxPayload) {
      const size = payload.length + sizeOfHeaders(headers)
      if (size > maxPayload)
        throw new PayloadTooLargeError('the largest event of NATS', maxPayload, size, 'bytes of an event')
    }
    // The token begins `1e17-<secret>-`, so that services of this library that receive the event on its subject know
    // that it is an event.
    // An event that is sent again keeps its token: a server that is slow may still confirm the first time.
    event.token ??= replyToken('event', number, newSecret(), undefined)
    this.#connection.send(subject, payload, this.#inbox + event.token, headers)
  }

  #confirmed({ subject, data, headers }: Message): void {
    const start = this.#inbox.length
    const number = numberIn(subject, start + 2, subject.indexOf('-', start))
    const event = this.#publisher.sentEvent(number)
    if (event?.token === undefined || !subject.endsWith(event.token)) return
    const isMissing = data.length === 0 && headers?.code === 503
    const said = isMissing ? undefined : readPubAck(data)
    // A service that listens on the subject has answered the event. Only JetStream may confirm it.
    if (!isMissing && said === undefined) return
    if (said === undefined) this.#publisher.missing(number)
    else if (said.error?.err_code === IS_WAITING) this.#publisher.stored(number, undefined, true)
    else if (said.error !== undefined) this.#failed(number, event.waitsFor ?? event.address, said.error)
    else if (said.stream === LATER_STREAM) this.#publisher.stored(number, undefined, false)
    else this.#publisher.stored(number, String(said.seq), said.duplicate === true)
  }

  #failed(number: number, subject: string, { code, description }: NonNullable<PubAck['error']>): void {
    const full = adviceOnFull(description)
    const advice = full === undefined ? '' : `; ${full}`
    const message = `NATS does not store the event '${subject}': it says '${description}' (${code})${advice}`
    // Failures that pass by themselves: a leader is being elected, or too many events came at once.
    const passes = full === undefined && (code === 503 || code === 429 || IN_PROCESS.test(description))
    // 400: a header is invalid, or all headers together are too large.
    const isWrong = full === undefined && code === 400
    const error = isWrong ? new EventRefusedError(message) : new NotStoredError(message, true)
    this.#publisher.refused(number, error, passes)
  }
}
