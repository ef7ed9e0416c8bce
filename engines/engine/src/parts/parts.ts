/**
 * `inParts` wraps the carrier of an engine that limits messages to a small size, and sends larger messages in parts.
 * All parts of a message to an inbox follow one another. A service shares its address with other processes, so only the
 * first part of a request is sent there: the process that receives it names the address for the other parts, and
 * acknowledges them.
 */
import { PayloadTooLargeError, type Usage } from '@elysia-microservices/transport/kit'
import type { Carried, CarriedHeaders, Carrier, Sender, Words } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import type { Subject } from '../server/subjects.ts'
import { bytesOf, LOST_AFTER, MAX_MESSAGE, MAX_REPLY } from '../words.ts'
import { Assemblies } from './assemblies.ts'
import { HEAD, isOfParts, NO_MORE, partOf, readReceived } from './part.ts'

/** Bytes reserved for headers and addresses in a message of the largest size that the server allows. */
export const MARGIN = 1_024
/** Most bytes of a request that are sent before they are acknowledged. */
const WINDOW = 4 * 1024 * 1024
const NOTHING = new Uint8Array(0)

/**
 * A carrier for messages of up to `MAX_MESSAGE` bytes, and for answers to addresses of at most `MAX_REPLY` characters.
 */
export interface PartedCarrier extends Carrier {
  togetherAt(address: string): string | undefined
  /** Bytes of incomplete messages. */
  readonly parts: Usage
  /** Whether the request with this reply address is still being sent. */
  isSending(reply: string): boolean
  /** Nobody waits at this reply address any more: the unsent parts of its request are dropped. */
  forget(reply: string): void
  /**
   * Listens like `listen` of a carrier.
   * @param wants returns whether somebody waits at an address that begins with this one: other parts are dropped
   */
  listen(
    address: string,
    receive: (message: Carried) => void,
    refused?: (error: Error) => void,
    wants?: (address: string) => boolean
  ): void
  /**
   * Takes messages like `take` of a carrier.
   * @param answers returns whether this service answers a request of which the first part has arrived
   */
  take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void,
    answers?: (subject: Subject, message: Carried) => boolean
  ): Promise<void>
}

/** Wraps a carrier so that messages which are too large for it are sent in parts. */
export function inParts(carrier: Carrier): PartedCarrier {
  return new Parts(carrier)
}

/** A request that is sent in parts, until its call has ended. */
interface Outgoing {
  readonly id: string
  /** The message; empty once all parts were sent. */
  bytes: Uint8Array
  readonly partSize: number
  index: number
  sent: number
  heardAt: number
  /** The address for all parts except the first. The first process that names an address gets them. */
  to: string | undefined
}

class Parts implements PartedCarrier {
  readonly #carrier: Carrier
  readonly everyone: string
  /** Requests that are being sent, by their reply addresses. */
  readonly #outgoing = new Map<string, Outgoing>()
  readonly #incoming: Assemblies

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    this.everyone = carrier.everyone
    this.#incoming = new Assemblies(carrier)
  }

  get isConnected(): boolean {
    return this.#carrier.isConnected
  }

  get server(): string {
    return this.#carrier.server
  }

  get maxPayload(): number {
    return this.#carrier.maxPayload
  }

  get over(): Carrier['over'] {
    return this.#carrier.over
  }

  get parts(): Usage {
    return this.#incoming.size
  }

  newInbox(): string {
    return this.#carrier.newInbox()
  }

  isInbox(address: string): boolean {
    return address.length <= MAX_REPLY && this.#carrier.isInbox(address)
  }

  togetherAt(address: string): string | undefined {
    return this.#carrier.togetherAt?.(address)
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    this.#carrier.emit(address, packet, reply, headers)
  }

  hasRoomFor(sender: Sender): boolean {
    return this.#carrier.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    this.#carrier.atTurnEnd(task)
  }

  flush(): Promise<void> {
    return this.#carrier.flush()
  }

  /** @throws {PayloadTooLargeError} the message has more than `MAX_MESSAGE` bytes */
  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders, expires?: number): void {
    const room = this.#carrier.maxPayload - MARGIN
    if (words.length * 3 <= room) return this.#carrier.publish(address, words, reply, headers, expires)
    const bytes = typeof words === 'string' ? bytesOf(words) : words
    if (bytes.length <= room) return this.#carrier.publish(address, bytes, reply, headers, expires)
    if (bytes.length > MAX_MESSAGE)
      throw new PayloadTooLargeError('the size of a message', MAX_MESSAGE, bytes.length, 'bytes')
    const outgoing: Outgoing = {
      id: newSecret(),
      bytes,
      partSize: room - HEAD,
      index: 0,
      sent: 0,
      heardAt: performance.now(),
      to: undefined
    }
    if (reply === undefined || this.isInbox(address))
      while (outgoing.sent < bytes.length) this.#sendPart(outgoing, address, reply, headers, expires)
    else {
      this.#sendPart(outgoing, address, reply, headers, expires)
      this.#outgoing.set(reply, outgoing)
    }
  }

  listen(
    address: string,
    receive: (message: Carried) => void,
    refused?: (error: Error) => void,
    wants?: (address: string) => boolean
  ): void {
    this.#carrier.listen(
      address,
      (message) => {
        if (!isOfParts(message.words)) return receive(message)
        const received = readReceived(message.words)
        if (received !== undefined) this.#sendMore(message, received)
        else if (wants?.(message.address) === true) this.#incoming.add(message, receive)
      },
      refused
    )
  }

  take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void,
    answers: (subject: Subject, message: Carried) => boolean = () => true
  ): Promise<void> {
    return this.#carrier.take(subjects, (subject, message) => {
      // The first part of a request for another service is passed on without assembling, because the other parts must
      // not be sent to this process.
      if (!isOfParts(message.words) || !answers(subject, message)) return receive(subject, message)
      if (message.reply === '' || !this.isInbox(message.reply)) return message.ended?.()
      this.#incoming.begin(message, (whole) => receive(subject, whole))
    })
  }

  async leave(): Promise<void> {
    await this.#carrier.leave()
    // The first parts of these messages have arrived, so the messages count as requests in flight.
    await this.#incoming.ended()
  }

  async close(): Promise<void> {
    this.#outgoing.clear()
    this.#incoming.close()
    await this.#carrier.close()
  }

  isSending(reply: string): boolean {
    const outgoing = this.#outgoing.get(reply)
    if (outgoing === undefined || outgoing.sent >= outgoing.bytes.length) return false
    return performance.now() - outgoing.heardAt < LOST_AFTER
  }

  forget(reply: string): void {
    this.#outgoing.delete(reply)
  }

  // ── outgoing parts ───────────────────────────────────────────────────────────────────────────────────

  #sendPart(
    outgoing: Outgoing,
    address: string,
    reply: string | undefined,
    headers?: CarriedHeaders,
    expires?: number
  ): void {
    const { id, bytes, partSize, sent } = outgoing
    const part = bytes.subarray(sent, sent + partSize)
    const words = partOf(id, outgoing.index, bytes.length, part)
    outgoing.sent += part.length
    // Headers and expiry belong to the whole message, so only the first part has them.
    if (outgoing.index === 0) this.#carrier.publish(address, words, reply, headers, expires)
    else this.#carrier.publish(address, words, reply)
    outgoing.index++
  }

  /** A service has acknowledged bytes of a request, and has named the address for further parts. */
  #sendMore({ address: reply, reply: address }: Carried, received: number): void {
    const outgoing = this.#outgoing.get(reply)
    if (!this.isInbox(address)) return
    if (outgoing === undefined) return this.#carrier.publish(address, NO_MORE)
    outgoing.to ??= address
    // A second service also has the first part; it gets no more parts.
    if (outgoing.to !== address) return this.#carrier.publish(address, NO_MORE)
    if (received > outgoing.sent || received < 0) return
    outgoing.heardAt = performance.now()
    while (outgoing.sent < outgoing.bytes.length && outgoing.sent - received < WINDOW)
      this.#sendPart(outgoing, address, undefined)
    if (outgoing.sent === outgoing.bytes.length) outgoing.bytes = NOTHING
  }
}
