/**
 * `inParts`: a carrier around a carrier, for engines with a small largest message. What is larger travels in parts, from
 * `~<id> <index> <bytes of all>` and a line feed on. To an inbox all parts follow one another. To a service, which shares
 * its address with other processes, the first part goes alone; the process that gets it says where the others go, and how
 * much it has taken.
 */
import { text as utf8 } from '../bytes/text.ts'
import {
  ConnectionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError
} from '../errors/index.ts'
import type { Gauge } from '../transport.ts'
import type { Carried, CarriedHeaders, Carrier, Sender, Words } from './carrier.ts'
import { newSecret, SECRET_LENGTH } from './secret.ts'
import type { Subject } from './server/subjects.ts'
import { bytesOf, LOST_AFTER, letterAt, MAX_MESSAGE, MAX_REPLY, numberIn, textOf } from './words.ts'

/** The first character of a part: no JSON begins with it, and none of our other words. */
const PART = '~'
/** What follows `~` in the word that so many bytes have come: `~+20480`. */
const RECEIVED = '+'
/** Bytes left for headers and addresses in a message that is as large as the server allows. */
const MARGIN = 1_024
/** The head of a part is shorter than this. */
const HEAD = 64
/** Bytes of a request that are on their way without having been acknowledged. */
const WINDOW = 4 * 1024 * 1024
/** Bytes of messages in parts that a connection holds until they are whole, in all, and of requests of one caller. */
const MAX_PARTS = 256 * 1024 * 1024
const MAX_PARTS_OF_ONE = 2 * MAX_MESSAGE
/** Overhead that each part counts, so that many nearly empty parts stay within the limit. */
const COST_OF_PART = 256
/** Overhead that each message counts. */
const COST_OF_MESSAGE = 1_024
/**
 * While there is no room, requests that have come for at least so many milliseconds make room for others, if they came
 * with fewer bytes a second than this: who sends one byte now and then would keep the room for ever.
 */
const PATIENCE = 2_000
const LEAST_PACE = 64 * 1024
/** Milliseconds between two looks for such requests that find too little. */
const CLEARING = 100

/** A carrier of messages of any size up to `MAX_MESSAGE`, and of answers to addresses of at most `MAX_REPLY` characters. */
export interface PartedCarrier extends Carrier {
  togetherAt(address: string): string | undefined
  /** Bytes that wait for the rest of their messages. */
  readonly parts: Gauge
  /** Whether the request with this reply address is still being sent. */
  isSending(reply: string): boolean
  /** Nobody waits at this reply address any more: what has not been sent of its request is not. */
  forget(reply: string): void
  /** As of a carrier. @param wants whether somebody waits at an address behind this one: parts for nobody are not kept */
  listen(
    address: string,
    receive: (message: Carried) => void,
    refused?: (error: Error) => void,
    wants?: (address: string) => boolean
  ): void
}

/** A carrier that cuts what is too large for another. */
export function inParts(carrier: Carrier): PartedCarrier {
  return new Parts(carrier)
}

/** A request of which not all is sent. */
interface Outgoing {
  readonly id: string
  readonly bytes: Uint8Array
  readonly partSize: number
  index: number
  sent: number
  heardAt: number
}

/** A message of which not all has come. */
interface Assembly {
  readonly first: Carried
  readonly id: string
  readonly size: number
  /** The inbox of the caller whose request it is; empty: it has come to our own inbox. */
  readonly owner: string
  readonly deliver: (message: Carried) => void
  /** Where its parts go. */
  readonly address: string
  /** By which it is found. */
  readonly place: string
  /** It has come to a service, which acknowledges its parts. */
  readonly isRequest: boolean
  readonly chunks: Uint8Array[]
  received: number
  /** Its bytes and the overhead of holding them. */
  cost: number
  readonly startedAt: number
  heardAt: number
}

class Parts implements PartedCarrier {
  readonly #carrier: Carrier
  readonly everyone: string
  /** By the reply address of the request. */
  readonly #outgoing = new Map<string, Outgoing>()
  /** By where their parts come and, of what comes to our own inbox, by their id: two services may answer one call. */
  readonly #assemblies = new Map<string, Assembly>()
  readonly #held = new Map<string, number>()
  #heldSize = 0
  #nextClearing = 0
  #inbox: string | undefined
  #check: ReturnType<typeof setTimeout> | undefined
  #whole: (() => void) | undefined

  constructor(carrier: Carrier) {
    this.#carrier = carrier
    this.everyone = carrier.everyone
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

  get parts(): Gauge {
    return { current: this.#heldSize, limit: MAX_PARTS }
  }

  newInbox(): string {
    return this.#carrier.newInbox()
  }

  isInbox(address: string): boolean {
    return address.length <= MAX_REPLY && this.#carrier.isInbox(address)
  }

  addressOf(route: string): string {
    return this.#carrier.addressOf(route)
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

  /** @throws {PayloadTooLargeError} it is larger than any message may be */
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
      heardAt: performance.now()
    }
    if (reply === undefined || this.isInbox(address))
      while (outgoing.sent < bytes.length) this.#sendPart(outgoing, address, reply, headers)
    else {
      this.#sendPart(outgoing, address, reply, headers)
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
        if (letterAt(message.words) !== PART) receive(message)
        else if (letterAt(message.words, 1) === RECEIVED) this.#sendMore(message)
        else if (wants?.(message.address) === true) this.#take(message, message.address, receive)
      },
      refused
    )
  }

  take(subjects: readonly Subject[], receive: (subject: Subject, message: Carried) => void): Promise<void> {
    return this.#carrier.take(subjects, (subject, message) => {
      if (letterAt(message.words) !== PART) return receive(subject, message)
      if (message.reply === '' || !this.isInbox(message.reply)) return
      this.#inbox ??= this.#openInbox()
      this.#take(message, this.#inbox + newSecret(), (whole) => receive(subject, whole))
    })
  }

  async leave(): Promise<void> {
    await this.#carrier.leave()
    // The first parts have come: what they began belongs to what is in flight.
    if (this.#assemblies.size > 0) await new Promise<void>((resolve) => (this.#whole = resolve))
  }

  async close(): Promise<void> {
    clearTimeout(this.#check)
    this.#check = undefined
    this.#outgoing.clear()
    this.#assemblies.clear()
    this.#whole?.()
    await this.#carrier.close()
  }

  isSending(reply: string): boolean {
    const outgoing = this.#outgoing.get(reply)
    return outgoing !== undefined && performance.now() - outgoing.heardAt < LOST_AFTER
  }

  forget(reply: string): void {
    this.#outgoing.delete(reply)
  }

  // ── out ──────────────────────────────────────────────────────────────────────────────────────────────

  #sendPart(outgoing: Outgoing, address: string, reply: string | undefined, headers?: CarriedHeaders): void {
    const { id, bytes, partSize, sent } = outgoing
    const part = bytes.subarray(sent, sent + partSize)
    const words = prefixed(`${PART}${id} ${outgoing.index} ${bytes.length}\n`, part)
    outgoing.sent += part.length
    // Headers are those of the message, and the first part tells them.
    this.#carrier.publish(address, words, reply, outgoing.index === 0 ? headers : undefined)
    outgoing.index++
  }

  /** A service has so many bytes of a request, and says where the others go. */
  #sendMore({ address: reply, words, reply: address }: Carried): void {
    const outgoing = this.#outgoing.get(reply)
    const received = numberIn(textOf(words), 2)
    if (outgoing === undefined || received > outgoing.sent || received < 0 || !this.isInbox(address)) return
    outgoing.heardAt = performance.now()
    while (outgoing.sent < outgoing.bytes.length && outgoing.sent - received < WINDOW)
      this.#sendPart(outgoing, address, undefined)
    if (outgoing.sent === outgoing.bytes.length) this.#outgoing.delete(reply)
  }

  // ── in ───────────────────────────────────────────────────────────────────────────────────────────────

  #openInbox(): string {
    const inbox = this.#carrier.newInbox()
    this.#carrier.listen(inbox, (message) => {
      const assembly = this.#assemblies.get(message.address)
      const part = readPart(message.words)
      if (assembly !== undefined && part !== undefined) this.#add(assembly, message, part)
    })
    return inbox
  }

  /** A part has come: the first of a message, or, in an inbox, any. @param address where the next ones come */
  #take(message: Carried, address: string, deliver: (message: Carried) => void): void {
    const part = readPart(message.words)
    if (part === undefined) return
    const isRequest = address !== message.address
    const place = isRequest ? address : `${address} ${part.id}`
    const known = this.#assemblies.get(place)
    if (known !== undefined) return this.#add(known, message, part)
    const first = plain(message)
    if (part.index !== 0) return deliver({ ...first, refusal: lost() })
    if (part.size > MAX_MESSAGE) return deliver({ ...first, refusal: tooLarge(part.size) })
    const now = performance.now()
    const assembly: Assembly = {
      first,
      id: part.id,
      size: part.size,
      owner: isRequest ? ownerOf(message.reply) : '',
      deliver,
      address,
      place,
      isRequest,
      chunks: [],
      received: 0,
      cost: 0,
      startedAt: now,
      heardAt: now
    }
    this.#assemblies.set(place, assembly)
    this.#check ??= setTimeout(() => this.#checkSilence(), LOST_AFTER / 2)
    if (this.#charge(assembly, COST_OF_MESSAGE + sizeOf(first.headers))) this.#add(assembly, message, part)
  }

  #add(assembly: Assembly, message: Carried, { id, index, size, bytes }: Part): void {
    const { chunks } = assembly
    // It came twice.
    if (id === assembly.id && index < chunks.length) return
    if (id !== assembly.id || index !== chunks.length || size !== assembly.size)
      return this.#end(assembly, lost())
    // A part of nothing is no sign of life.
    if (bytes.length === 0 || assembly.received + bytes.length > assembly.size)
      return this.#end(
        assembly,
        new ProtocolError('A part of a message is not what its first part announced')
      )
    if (!this.#charge(assembly, bytes.length + COST_OF_PART)) return
    assembly.received += bytes.length
    assembly.heardAt = performance.now()
    // A copy: it lies in what the socket gave.
    chunks.push(new Uint8Array(bytes))
    if (assembly.received === assembly.size) return this.#end(assembly, undefined, message)
    if (assembly.isRequest) this.#acknowledge(assembly)
  }

  /** Counts what a message costs. @returns false: that is too much, and its message has ended */
  #charge(assembly: Assembly, cost: number): boolean {
    const { owner } = assembly
    if (this.#heldSize + cost > MAX_PARTS) this.#makeRoom(cost)
    if (!this.#assemblies.has(assembly.place)) return false
    const ofOwner = (this.#held.get(owner) ?? 0) + cost
    if (this.#heldSize + cost > MAX_PARTS || (owner !== '' && ofOwner > MAX_PARTS_OF_ONE)) {
      this.#end(assembly, this.#full(assembly))
      return false
    }
    this.#held.set(owner, ofOwner)
    this.#heldSize += cost
    assembly.cost += cost
    return true
  }

  /** Ends requests that come too slowly, the oldest first, until there is room. */
  #makeRoom(size: number): void {
    const now = performance.now()
    if (now < this.#nextClearing) return
    for (const one of [...this.#assemblies.values()]) {
      if (this.#heldSize + size <= MAX_PARTS) return
      const time = now - one.startedAt
      const isSlow = one.isRequest && time > PATIENCE && (one.received * 1_000) / time < LEAST_PACE
      if (isSlow) this.#end(one, this.#full(one))
    }
    // To look at all of them costs time, and who sends much more could have it done for each part.
    this.#nextClearing = now + CLEARING
  }

  /** Is called for each part of a request: its sender goes on as they come. */
  #acknowledge({ first, received, address }: Assembly): void {
    this.#carrier.publish(first.reply, `${PART}${RECEIVED}${received}`, address)
  }

  #full({ owner, isRequest }: Assembly): Error {
    const ofOne = this.#held.get(owner) ?? 0
    const message = `${this.#heldSize} bytes of messages in parts wait for their rest, ${ofOne} of them from here; send them one after the other`
    return isRequest ? new RejectedError(message) : new OverloadedError(message)
  }

  /** Ends an assembly: it is whole, or will not be. @param last its last part */
  #end(assembly: Assembly, refusal: Error | undefined, last = assembly.first): void {
    const { first, place, isRequest, owner, chunks, cost, deliver } = assembly
    this.#assemblies.delete(place)
    this.#heldSize -= cost
    const ofOwner = (this.#held.get(owner) ?? 0) - cost
    if (ofOwner > 0) this.#held.set(owner, ofOwner)
    else this.#held.delete(owner)
    // The number of a message stands in the reply address of its last part.
    const message = { ...first, reply: isRequest ? first.reply : last.reply }
    deliver(refusal === undefined ? { ...message, words: joined(chunks) } : { ...message, refusal })
    if (this.#assemblies.size === 0) this.#whole?.()
  }

  #checkSilence(): void {
    const now = performance.now()
    for (const assembly of [...this.#assemblies.values()])
      if (this.#carrier.isConnected && now - assembly.heardAt > LOST_AFTER) this.#end(assembly, lost())
    this.#check =
      this.#assemblies.size === 0 ? undefined : setTimeout(() => this.#checkSilence(), LOST_AFTER / 2)
  }
}

interface Part {
  readonly id: string
  readonly index: number
  readonly size: number
  readonly bytes: Uint8Array
}

/** Reads a part; `undefined`: it is none. */
function readPart(words: Words): Part | undefined {
  const bytes = typeof words === 'string' ? bytesOf(words) : words
  const end = bytes.subarray(0, HEAD).indexOf(LINE_FEED)
  if (end === -1) return undefined
  const head = utf8.read(bytes, 1, end)
  const blank = head.indexOf(' ', SECRET_LENGTH + 1)
  const index = numberIn(head, SECRET_LENGTH + 1, blank)
  const size = numberIn(head, blank + 1)
  if (blank === -1 || index === -1 || size < 1) return undefined
  return { id: head.slice(0, SECRET_LENGTH), index, size, bytes: bytes.subarray(end + 1) }
}

const LINE_FEED = 10

/** Everything of a message but its words. Its fields may be getters of a class. */
function plain({ address, reply, headers }: Carried): Carried {
  return { address, reply, headers, words: '' }
}

/** Bytes of headers, about. */
function sizeOf(headers: Carried['headers']): number {
  let size = 0
  for (const name in headers) size += 2 * (name.length + (headers[name] ?? '').length)
  return size
}

/** The inbox that an address is behind. */
function ownerOf(address: string): string {
  return address.slice(0, address.lastIndexOf('.') + 1)
}

/** Bytes behind a few ASCII characters. */
function prefixed(head: string, bytes: Uint8Array): Uint8Array {
  const all = utf8.allocate(head.length + bytes.length)
  utf8.write(all, head, 0)
  all.set(bytes, head.length)
  return all
}

/** Puts parts together again. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = utf8.allocate(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function lost(): Error {
  return new ConnectionError('A part of a message was lost on its way', true)
}

function tooLarge(size: number): Error {
  return new PayloadTooLargeError('the size of a message', MAX_MESSAGE, size, 'bytes')
}
