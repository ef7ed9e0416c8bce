/** Messages in parts on their way in: put together, and bounded, because strangers send them. */
import {
  ConnectionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError
} from '../../errors/index.ts'
import type { Gauge } from '../../transport.ts'
import type { Carried, Carrier } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { LOST_AFTER, MAX_MESSAGE } from '../words.ts'
import { isNoMore, joined, type Part, readPart, receivedWord } from './part.ts'

/** Bytes of messages in parts that a connection holds until they are whole, in all, and of requests of one caller. */
const MAX_PARTS = 256 * 1024 * 1024
const MAX_PARTS_OF_ONE = 2 * MAX_MESSAGE
/** Bytes that each part counts beside its own: else many that are nearly empty would cost far more than is counted. */
const COST_OF_PART = 256
/** Bytes that each message counts beside its parts and headers. */
const COST_OF_MESSAGE = 1_024
/**
 * While there is no room, requests that have come for at least so many milliseconds make room for others, if they came
 * with fewer bytes a second than this: who sends one byte now and then would keep the room for ever.
 */
const PATIENCE = 2_000
const LEAST_PACE = 64 * 1024
/** Milliseconds between two looks for such requests that find too little. */
const CLEARING = 100

/** A connection, as far as messages in parts need it. */
type PartsCarrier = Pick<Carrier, 'isConnected' | 'publish' | 'newInbox' | 'listen' | 'flush'>

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
  /** Bytes that it counts against the limits: its parts, its headers, and what holding them costs. */
  cost: number
  readonly startedAt: number
  heardAt: number
}

/** The incomplete messages of one connection. */
export class Assemblies {
  readonly #carrier: PartsCarrier
  /** Where further parts of requests come; empty until there is one. */
  #inbox = ''
  /** Resolves when the engine delivers there: it may take a while, and parts that come before would be lost. */
  #isOpen: Promise<void> | undefined
  /** By where their parts come and, of what comes to our own inbox, by their id: two services may answer one call. */
  readonly #assemblies = new Map<string, Assembly>()
  readonly #held = new Map<string, number>()
  #heldSize = 0
  #nextClearing = 0
  #check: ReturnType<typeof setTimeout> | undefined
  #whole: (() => void) | undefined

  /** @param carrier tells the senders of requests how far they have come */
  constructor(carrier: PartsCarrier) {
    this.#carrier = carrier
  }

  /** Bytes that wait for the rest of their messages. */
  get size(): Gauge {
    return { current: this.#heldSize, limit: MAX_PARTS }
  }

  /** Resolves when none waits for its rest any more. */
  async ended(): Promise<void> {
    if (this.#assemblies.size > 0) await new Promise<void>((resolve) => (this.#whole = resolve))
  }

  /** Gives all up. */
  close(): void {
    clearTimeout(this.#check)
    this.#check = undefined
    this.#assemblies.clear()
    this.#whole?.()
  }

  /** The first part of a request has come to a service. */
  begin(message: Carried, deliver: (message: Carried) => void): void {
    const part = readPart(message.words)
    if (part === undefined) return message.ended?.()
    if (this.#inbox === '') this.#open()
    const address = this.#inbox + newSecret()
    this.#begin(message, part, { address, place: address, isRequest: true, deliver })
  }

  #open(): void {
    this.#inbox = this.#carrier.newInbox()
    this.#carrier.listen(this.#inbox, (message) => this.#more(message))
    // If the server is lost meanwhile, we listen again before anything is published.
    this.#isOpen = this.#carrier.flush().catch(() => {})
  }

  /** A further part of a request has come, or the word that none will. */
  #more(message: Carried): void {
    const assembly = this.#assemblies.get(message.address)
    if (assembly === undefined) return
    if (isNoMore(message.words)) return this.#drop(assembly)
    const part = readPart(message.words)
    if (part !== undefined) this.#add(assembly, message, part)
  }

  /** A part of a message has come to one of our own inboxes: the first or any other. */
  add(message: Carried, deliver: (message: Carried) => void): void {
    const part = readPart(message.words)
    if (part === undefined) return
    const { address } = message
    const place = `${address} ${part.id}`
    const known = this.#assemblies.get(place)
    if (known !== undefined) this.#add(known, message, part)
    else this.#begin(message, part, { address, place, isRequest: false, deliver })
  }

  #begin(
    message: Carried,
    part: Part,
    kind: Pick<Assembly, 'address' | 'place' | 'isRequest' | 'deliver'>
  ): void {
    const { place, isRequest, deliver } = kind
    const first = plain(message)
    if (part.index !== 0) return deliver({ ...first, refusal: lost() })
    if (part.size > MAX_MESSAGE) return deliver({ ...first, refusal: tooLarge(part.size) })
    const now = performance.now()
    const assembly: Assembly = {
      ...kind,
      first,
      id: part.id,
      size: part.size,
      owner: isRequest ? ownerOf(message.reply) : '',
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
    if (assembly.isRequest) void this.#acknowledge(assembly)
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
  async #acknowledge({ first, received, address }: Assembly): Promise<void> {
    await this.#isOpen
    this.#carrier.publish(first.reply, receivedWord(received), address)
  }

  #full({ owner, isRequest }: Assembly): Error {
    const ofOne = this.#held.get(owner) ?? 0
    const message = `${this.#heldSize} bytes of messages in parts wait for their rest, ${ofOne} of them from here; send them one after the other`
    return isRequest ? new RejectedError(message) : new OverloadedError(message)
  }

  /** Ends an assembly: it is whole, or will not be. @param last its last part */
  #end(assembly: Assembly, refusal: Error | undefined, last = assembly.first): void {
    const { first, isRequest, chunks, deliver } = assembly
    this.#remove(assembly)
    // The number of a message stands in the reply address of its last part.
    const message = { ...first, reply: isRequest ? first.reply : last.reply }
    deliver(refusal === undefined ? { ...message, words: joined(chunks) } : { ...message, refusal })
    if (this.#assemblies.size === 0) this.#whole?.()
  }

  /** Its caller sends the rest elsewhere, or not at all, and waits for nothing from here. */
  #drop(assembly: Assembly): void {
    this.#remove(assembly)
    assembly.first.ended?.()
    if (this.#assemblies.size === 0) this.#whole?.()
  }

  #remove({ place, owner, cost }: Assembly): void {
    this.#assemblies.delete(place)
    this.#heldSize -= cost
    const ofOwner = (this.#held.get(owner) ?? 0) - cost
    if (ofOwner > 0) this.#held.set(owner, ofOwner)
    else this.#held.delete(owner)
  }

  #checkSilence(): void {
    const now = performance.now()
    for (const assembly of [...this.#assemblies.values()])
      if (this.#carrier.isConnected && now - assembly.heardAt > LOST_AFTER) this.#end(assembly, lost())
    this.#check =
      this.#assemblies.size === 0 ? undefined : setTimeout(() => this.#checkSilence(), LOST_AFTER / 2)
  }
}

/** Everything of a message but its words. Its fields may be getters of a class. */
function plain({ address, reply, headers, ended }: Carried): Carried {
  return { address, reply, headers, words: '', ...(ended !== undefined && { ended }) }
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

function lost(): Error {
  return new ConnectionError('A part of a message was lost on its way', true)
}

function tooLarge(size: number): Error {
  return new PayloadTooLargeError('the size of a message', MAX_MESSAGE, size, 'bytes')
}
