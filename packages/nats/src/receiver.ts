/** A message of NATS on its way to its handler, and the answer on its way back. */

import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import {
  type Answer,
  answerWith,
  type Dispatcher,
  errorPacket,
  failurePacket,
  idToJson,
  isStream,
  isThenable,
  type Logger,
  lastValuePacket,
  type NestPacket,
  reportEvent,
  toJson
} from '@elysia-microservices/transport/kit'
import type { Msg } from '@nats-io/transport-node'
import type { Endpoint, Endpoints } from './endpoints.ts'
import { ForeignAnswer } from './foreign-answer.ts'
import { isRecord } from './headers.ts'
import { envelopeOf, incoming, isOfSystem, type Origin } from './incoming.ts'
import { LargeRequest } from './large-request.ts'
import { NestAnswer, publishPacket } from './nest-answer.ts'
import { type AnswerOwner, lastWords, OwnAnswer } from './own-answer.ts'
import { jsonOf, OURS_ONLY, type ReplyToken, readReply, Said, textOf } from './wire.ts'

const NOT_JSON = 'The body of the request is not JSON'
const INPUT_AT_FIRST = 64

/** Everything that one connection of a server has. */
export interface Opened extends AnswerOwner {
  readonly endpoints: Endpoints
}

/** What takes more than a turn. */
interface Running {
  cut(): void
}

/** Handles what comes for one service. */
export class Receiver {
  readonly #dispatcher: Dispatcher
  readonly #logger: Logger
  readonly #running = new Set<Running>()
  readonly #settled: () => void
  #events = 0
  #streams = 0

  /** @param settled is called whenever nothing is in flight any more */
  constructor(dispatcher: Dispatcher, logger: Logger, settled: () => void) {
    this.#dispatcher = dispatcher
    this.#logger = logger
    this.#settled = settled
  }

  /** Requests and events that have begun and not ended. */
  get inFlight(): number {
    return this.#running.size + this.#events
  }

  /** Streams that are open. */
  get streams(): number {
    return this.#streams
  }

  /** Ends what is in flight: callers are told. */
  cut(): void {
    for (const answer of [...this.#running]) answer.cut()
    this.#running.clear()
  }

  /** A message has come for an endpoint. */
  receive(opened: Opened, received: Endpoint, message: Msg): void {
    const { reply: replyTo = '', data } = message
    // Reading a subject is decoding it.
    const subject = received.isExact ? received.subject : message.subject
    if (isOfSystem(subject, received)) return
    const own = replyTo === '' ? undefined : readReply(replyTo)
    // Who sends an event may want to know whether anybody listens, and no more.
    const isEvent = replyTo === '' || own?.kind === 'event'
    const endpoint = opened.endpoints.of(received, subject, isEvent ? 'event' : 'message')
    if (endpoint === undefined) return
    try {
      if (isEvent) return this.#receiveEvent(endpoint, message)
      const { headers } = message
      const origin = { endpoint, subject, replyTo, own, headers, startedAt: performance.now() }
      if (own !== undefined && data[0] === OURS_ONLY) this.#receiveOurs(opened, origin, data)
      else this.#receiveBody(opened, origin, data)
    } catch (error) {
      // Headers that are none, or a pattern nested too deeply to be written. The driver would stop reading.
      this.#logger.error(`A message on '${subject}' cannot be read`, error)
      if (!isEvent) this.#refuse(opened, replyTo, 'The message cannot be read')
    }
  }

  /** A caller has heard nothing of a call: it has been lost on its way, or another process has it. */
  asked(opened: Opened, message: Msg): void {
    const [subject = '', replyTo = ''] = textOf(message.data).split(' ')
    const call = opened.control.byReply(replyTo)
    if (call !== undefined) call.beat()
    else if (readReply(replyTo) !== undefined && opened.endpoints.answers(subject))
      opened.link.publish(replyTo, `+${Said.absent}`)
  }

  /** A channel, or the first part of a large request: `~<bytes of all>` and a line feed before it. */
  #receiveOurs(opened: Opened, origin: Origin, data: Uint8Array): void {
    const end = data.indexOf(0x0a)
    const [size, isChannel] = textOf(data.subarray(0, Math.max(end, 0)), 1).split(' ')
    const large = new LargeRequest(opened, origin.replyTo, Number(size), (body) => {
      this.#running.delete(large)
      if (body !== undefined) this.#receiveBody(opened, origin, body, isChannel === 'channel')
      this.#checkSettled()
    })
    this.#running.add(large)
    large.take(data.subarray(end + 1))
  }

  #receiveBody(opened: Opened, origin: Origin, data: Uint8Array, isChannel = false): void {
    let body: unknown
    try {
      body = data.length === 0 ? undefined : jsonOf(textOf(data))
    } catch {
      count(origin.endpoint, origin.startedAt, true)
      return this.#refuse(opened, origin.replyTo, NOT_JSON)
    }
    const packet = envelopeOf(body)
    if (packet === undefined) return this.#answerForeign(opened, origin, body)
    const id = idToJson(packet.id) ?? 'null'
    if (origin.own !== undefined) return this.#answerOwn(opened, origin, packet, id, isChannel)
    const message = incoming(origin, packet, packet.data)
    this.#run(opened, origin, message, id, () => {
      const answer = new NestAnswer(
        opened,
        origin.replyTo,
        id,
        message,
        this.#ending(origin, () => answer)
      )
      this.#running.add(answer)
      return answer.running
    })
  }

  #receiveEvent(endpoint: Endpoint, message: Msg): void {
    const logger = this.#logger
    let body: unknown
    try {
      body = message.data.length === 0 ? undefined : jsonOf(textOf(message.data))
    } catch (cause) {
      return logger.error(`The body of an event on '${message.subject}' is not JSON`, cause)
    }
    const packet = envelopeOf(body)
    const origin = { subject: message.subject, headers: message.headers, own: undefined }
    const event = incoming(origin, packet ?? {}, packet === undefined ? body : packet.data, 'event')
    const startedAt = performance.now()
    this.#events++
    reportEvent(this.#dispatcher, event, logger, () => {
      this.#events--
      count(endpoint, startedAt, false)
      this.#checkSettled()
    })
  }

  // ── answers ──────────────────────────────────────────────────────────────────────────────────────────

  /** Calls the handler. Most answers are a value that is there at once: they take no object of their own. */
  #run(opened: Opened, origin: Origin, message: IncomingMessage, id: string, begin: () => Answer): void {
    let result: unknown
    let packet: string | undefined
    try {
      result = this.#dispatcher.request(message)
      if (typeof result !== 'object' || result === null || !(isThenable(result) || isStream(result))) {
        const json = toJson(isRecord(result) ? result.data : result)
        packet = origin.own === undefined ? lastValuePacket(json, id) : lastWords(json)
      }
    } catch (error) {
      if (origin.own !== undefined) return begin().error(error)
      count(origin.endpoint, origin.startedAt, true)
      return publishPacket(opened, origin.replyTo, failurePacket(error, id, opened.logger, message))
    }
    if (packet === undefined) return void answerWith(result, begin())
    if (origin.own !== undefined && packet.length * 3 > opened.link.maxPayload) return begin().value(result)
    count(origin.endpoint, origin.startedAt, false)
    if (isRecord(result)) return opened.link.publish(origin.replyTo, packet, undefined, result.headers)
    publishPacket(opened, origin.replyTo, packet)
  }

  #answerOwn(opened: Opened, origin: Origin, packet: NestPacket, id: string, isChannel: boolean): void {
    const own = origin.own as ReplyToken
    const isSingle = own.kind === 'request'
    const newAnswer = () => {
      const answer = new OwnAnswer(
        opened,
        origin.replyTo,
        id,
        own,
        this.#ending(origin, () => answer)
      )
      this.#running.add(answer)
      return answer
    }
    if (!isChannel) {
      const message = incoming(origin, packet, packet.data)
      return this.#run(opened, origin, message, id, () => {
        const answer = newAnswer()
        if (!isSingle) this.#streams++
        answer.begin(message)
        opened.control.acceptLater(answer)
        return answer
      })
    }
    const answer = newAnswer()
    if (!isSingle) this.#streams++
    const input = answer.openInput()
    const message = incoming(origin, packet, input)
    if ('data' in packet) input.push(packet.data)
    answer.begin(message)
    answer.startInput(INPUT_AT_FIRST)
    try {
      answerWith(this.#dispatcher.request(message), answer)
    } catch (error) {
      answer.error(error)
    }
  }

  #answerForeign(opened: Opened, origin: Origin, data: unknown): void {
    const message = incoming(origin, {}, data)
    const answer = new ForeignAnswer(
      opened.link,
      opened.logger,
      origin.replyTo,
      message,
      this.#ending(origin, () => answer)
    )
    this.#running.add(answer)
    try {
      answerWith(this.#dispatcher.request(message), answer)
    } catch (error) {
      answer.error(error)
    }
  }

  #refuse({ link }: Opened, replyTo: string, message: string): void {
    const json = JSON.stringify({ status: 'error', code: 'BAD_REQUEST', message })
    link.publish(replyTo, errorPacket(json, 'null'))
  }

  /** What is done when an answer has ended. */
  #ending({ endpoint, startedAt, own }: Origin, answer: () => Running) {
    return (hasFailed: boolean) => {
      if (own?.kind === 'stream') this.#streams--
      this.#running.delete(answer())
      count(endpoint, startedAt, hasFailed)
      this.#checkSettled()
    }
  }

  #checkSettled(): void {
    if (this.inFlight === 0) this.#settled()
  }
}

function count(endpoint: Endpoint, startedAt: number, hasFailed: boolean): void {
  endpoint.requests++
  endpoint.time += performance.now() - startedAt
  if (hasFailed) endpoint.errors++
}
