/** The answering side of an engine: takes a message to its handler, and the handler's answer to the caller. */
import {
  type Answer,
  answerWith,
  type Dispatcher,
  type IncomingMessage,
  inFront,
  isStream,
  isThenable,
  type Logger,
  PayloadTooLargeError,
  quietLog,
  type RunningAnswer,
  RunningMessages,
  shown
} from '@elysia-microservices/transport/kit'
import {
  errorPacket,
  failurePacket,
  idToJson,
  lastValuePacket,
  type NestPacket,
  toJson
} from '@elysia-microservices/transport/nest'
import { MOST_OF_ONE, readRequests, TOGETHER } from '../batches.ts'
import type { Carried, Engine } from '../carrier.ts'
import {
  CHANNEL,
  jsonOf,
  letterAt,
  MAX_REPLY,
  type ReplyToken,
  readReply,
  Said,
  textOf,
  valueToJson
} from '../words.ts'
import { ForeignAnswer } from './foreign-answer.ts'
import { envelopeOf, incoming, type Origin } from './incoming.ts'
import { fits, NestAnswer, sendOnlyPacket } from './nest-answer.ts'
import type { OpenConnection } from './open-connection.ts'
import { lastWords, OwnAnswer } from './own-answer.ts'
import { addressOfMessage, type Subject } from './subjects.ts'

const NOT_JSON = 'The body of the request is not JSON'
/** Values of a channel's input that the caller may send before the size of the first value is known. */
const INPUT_AT_FIRST = 4
/** The reply address, up to its secret, with which one of our callers asks about a call. */
const HEAD = /\.1[rs]\d{1,15}-[a-z2-7]{12}-$/

/** Handles the messages of one service. */
export class Responder {
  readonly #engine: Engine
  readonly #dispatcher: Dispatcher
  readonly #logger: Logger
  readonly running = new RunningMessages()
  /** Number of requests that were dropped because their reply address was no inbox. */
  refused = 0
  /** The service has stopped: no handler begins, although the connection is still closing. */
  isOver = false

  constructor(engine: Engine, dispatcher: Dispatcher, logger: Logger) {
    this.#engine = engine
    this.#dispatcher = dispatcher
    this.#logger = logger
  }

  /** Receives a message of a subject: one request, one event, or a batch of requests. */
  receive(connection: OpenConnection, received: Subject, message: Carried): void {
    // Not acknowledged, so that an engine which keeps messages gives it to another process.
    if (this.isOver) return
    if (letterAt(message.words) !== TOGETHER) return this.#receiveOne(connection, received, message)
    const { address, reply } = message
    const inbox = reply.slice(0, reply.lastIndexOf('.') + 1)
    readRequests(textOf(message.words), (token, words, headers) =>
      this.#receiveOne(connection, received, { address, words, reply: inbox + token, headers })
    )
  }

  #receiveOne(connection: OpenConnection, received: Subject, message: Carried): void {
    const { reply: replyTo } = message
    const address = addressOfMessage(received, message)
    const own = replyTo === '' ? undefined : readReply(replyTo)
    // The sender of an event may set a reply address only to learn whether anybody listens.
    const isEvent = replyTo === '' || own?.kind === 'event'
    const chosen = connection.subjects.of(received, address, isEvent ? 'event' : 'message')
    const { ended } = message
    if (chosen === undefined) {
      ended?.()
      if (
        own !== undefined &&
        !isEvent &&
        !connection.subjects.answers(address) &&
        this.#mayAnswer(connection, replyTo)
      )
        connection.carrier.publish(replyTo, `+${Said.absent}`)
      return
    }
    const subject = ended === undefined ? chosen : tellingOf(chosen, ended)
    const matched = this.#engine.wildcards?.isEachAlone === true ? chosen.address : undefined
    try {
      if (isEvent) return this.#receiveEvent(subject, { address, matched }, message)
      if (!this.#mayAnswer(connection, replyTo)) {
        ended?.()
        return this.#drop(address, replyTo)
      }
      const { headers, settle } = message
      const { callers } = connection
      const origin = {
        subject,
        address,
        matched,
        replyTo,
        own,
        headers,
        callers,
        settle,
        startedAt: performance.now()
      }
      if (message.refusal !== undefined) this.#refuseParts(connection, origin, message.refusal)
      else this.#receiveRequest(connection, origin, message)
    } catch (error) {
      // Headers that are no headers, or a pattern that is nested too deeply. The error is caught, because the driver
      // would stop reading.
      quietLog(this.#logger).error('message', `A message on '${shown(address)}' cannot be read`, error)
      ended?.()
      if (!isEvent) this.#refuse(connection, replyTo, 'The message cannot be read')
    }
  }

  /** Answers the question of a caller about a call: the call may have been lost, or another process may have it. */
  asked(connection: OpenConnection, { words, reply }: Carried): void {
    if (!HEAD.test(reply) || !this.#mayAnswer(connection, reply)) return
    const call = connection.control.byReply(reply)
    if (call !== undefined) call.beat()
    else if (words.length <= MAX_REPLY * 4 && connection.subjects.answers(textOf(words)))
      connection.carrier.publish(reply, `+${Said.absent}`)
  }

  /**
   * Whether an answer may be published to an address that a caller has chosen. Engines do not check whether the caller
   * itself may publish there: a caller could make this service delete streams, or send messages to itself.
   */
  #mayAnswer({ carrier, control }: OpenConnection, replyTo: string): boolean {
    return carrier.isInbox(replyTo) && !replyTo.startsWith(control.inbox)
  }

  #drop(address: string, replyTo: string): void {
    this.refused++
    quietLog(this.#logger).warn(
      'reply address',
      `A request on '${shown(address)}' is dropped: its reply address '${shown(replyTo)}' is not an inbox`
    )
  }

  #receiveRequest(connection: OpenConnection, origin: Origin, { words }: Carried): void {
    const isChannel = origin.own !== undefined && letterAt(words) === CHANNEL
    let body: unknown
    try {
      body = words.length === 0 ? undefined : jsonOf(textOf(words, isChannel ? 1 : 0))
    } catch {
      origin.subject.count(origin.startedAt, true)
      return this.#refuse(connection, origin.replyTo, NOT_JSON)
    }
    const packet = envelopeOf(body)
    if (packet === undefined) return this.#answerForeign(connection, origin, body)
    const id = idToJson(packet.id) ?? 'null'
    if (isChannel) return this.#openChannel(connection, origin, packet, id)
    const message = incoming(this.#engine.name, origin, packet, packet.data)
    this.#run(connection, origin, message, id, () => {
      if (origin.own !== undefined) return this.#beginOwn(connection, origin, origin.own, id, message)
      const { replyTo } = origin
      const answer = new NestAnswer(connection, replyTo, id, message, (hasFailed) => ended(hasFailed))
      const ended = this.#begin(answer, origin)
      return answer.running
    })
  }

  #receiveEvent(
    subject: Origin['subject'],
    { address, matched }: Pick<Origin, 'address' | 'matched'>,
    { words, headers, refusal, ended, settle }: Carried
  ): void {
    const logger = this.#logger
    if (refusal !== undefined) {
      ended?.()
      return quietLog(logger).error(
        'event parts',
        `An event on '${shown(address)}' is dropped, because parts of it are missing`,
        refusal
      )
    }
    let body: unknown
    try {
      body = words.length === 0 ? undefined : jsonOf(textOf(words))
    } catch (cause) {
      ended?.()
      return quietLog(logger).error(
        'event body',
        `The body of an event on '${shown(address)}' is not JSON`,
        cause
      )
    }
    const packet = envelopeOf(body)
    const origin = { address, matched, headers, settle, own: undefined }
    const data = packet === undefined ? body : packet.data
    const event = incoming(this.#engine.name, origin, packet ?? {}, data, 'event')
    const startedAt = performance.now()
    this.running.event(this.#dispatcher, event, logger, () => subject.count(startedAt, false))
  }

  // ── answers ──────────────────────────────────────────────────────────────────────────────────────────

  /** Calls the handler. Most answers are a value that is there at once, so no object is made for such an answer. */
  #run(
    connection: OpenConnection,
    origin: Origin,
    message: IncomingMessage,
    id: string,
    begin: () => Answer
  ): void {
    const { replyTo, own, subject, startedAt } = origin
    let result: unknown
    let packet: string | undefined
    let record: ReturnType<NonNullable<Engine['recordOf']>>
    try {
      result = this.#dispatcher.request(message)
      if (typeof result !== 'object' || result === null || !(isThenable(result) || isStream(result))) {
        record = this.#engine.recordOf?.(result)
        const value = record === undefined ? result : record.data
        // Nest's clients get what Nest would send them; for the others, nothing is lost silently.
        if (own === undefined) packet = lastValuePacket(toJson(value), id)
        else {
          const words = lastWords(valueToJson(value))
          const json = message.takeSet(true)
          packet = json === undefined ? words : inFront(json, words)
        }
      }
    } catch (error) {
      if (own !== undefined) return begin().error(error)
      subject.count(startedAt, true)
      return sendOnlyPacket(connection, replyTo, failurePacket(error, id, connection.logger, message))
    }
    if (packet === undefined) return void answerWith(result, begin())
    if (own !== undefined && packet.length > MOST_OF_ONE)
      return this.#beginOwn(connection, origin, own, id, message).only(packet)
    subject.count(startedAt, false)
    if (record !== undefined && fits(connection, packet))
      return connection.carrier.publish(replyTo, packet, undefined, record.headers)
    if (own !== undefined) return connection.answers.send(replyTo, packet)
    sendOnlyPacket(connection, replyTo, packet)
  }

  #beginOwn(
    connection: OpenConnection,
    origin: Origin,
    own: ReplyToken,
    id: string,
    message: IncomingMessage
  ): OwnAnswer {
    const answer = new OwnAnswer(connection, origin.replyTo, id, own, (hasFailed) => ended(hasFailed))
    const ended = this.#begin(answer, origin)
    answer.begin(message)
    connection.control.acceptLater(answer)
    return answer
  }

  #openChannel(connection: OpenConnection, origin: Origin, packet: NestPacket, id: string): void {
    const own = origin.own as ReplyToken
    const answer = new OwnAnswer(connection, origin.replyTo, id, own, (hasFailed) => ended(hasFailed))
    const ended = this.#begin(answer, origin)
    const input = answer.openInput()
    const message = incoming(this.#engine.name, origin, packet, input)
    if ('data' in packet) input.push(packet.data)
    answer.begin(message)
    answer.startInput(INPUT_AT_FIRST)
    this.#answer(message, answer)
  }

  #answerForeign(connection: OpenConnection, origin: Origin, data: unknown): void {
    const message = incoming(this.#engine.name, origin, {}, data)
    const answer = new ForeignAnswer(connection, origin.replyTo, message, (hasFailed) => ended(hasFailed))
    const ended = this.#begin(answer, origin)
    this.#answer(message, answer)
  }

  #answer(message: IncomingMessage, answer: Answer): void {
    try {
      answerWith(this.#dispatcher.request(message), answer)
    } catch (error) {
      answer.error(error)
    }
  }

  /** Registers an answer that has begun. Returns a function to call when the answer has ended. */
  #begin(answer: RunningAnswer, { subject, startedAt, own }: Origin): (hasFailed: boolean) => void {
    this.running.begin(answer, own?.kind === 'stream')
    return (hasFailed) => {
      subject.count(startedAt, hasFailed)
      this.running.end(answer)
    }
  }

  #refuse({ carrier }: OpenConnection, replyTo: string, message: string, code = 'BAD_REQUEST'): void {
    carrier.publish(replyTo, errorPacket(JSON.stringify({ status: 'error', code, message }), 'null'))
  }

  /** Refuses a request of which some parts did not arrive. */
  #refuseParts(connection: OpenConnection, { replyTo, subject, startedAt }: Origin, refusal: Error): void {
    subject.count(startedAt, true)
    const { message } = refusal
    if (refusal instanceof PayloadTooLargeError)
      return this.#refuse(connection, replyTo, message, 'PAYLOAD_TOO_LARGE')
    // The handler has not begun, so the caller may send the request again.
    connection.carrier.publish(replyTo, `+${Said.rejected}${JSON.stringify({ code: 'REJECTED', message })}`)
  }
}

/** Wraps a subject so that the end of one message calls `ended`. */
function tellingOf(subject: Subject, ended: () => void): Origin['subject'] {
  return {
    count(startedAt, hasFailed) {
      subject.count(startedAt, hasFailed)
      ended()
    }
  }
}
