/** Assembles messages that arrive in parts. Memory is limited, because strangers may send parts. */
import {
  ConnectionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  type Usage
} from '@elysia-microservices/transport/kit'
import type { Carried, Carrier } from '../carrier.ts'
import { plain } from '../plain.ts'
import { newSecret } from '../secret.ts'
import { LOST_AFTER, MAX_MESSAGE } from '../words.ts'
import { isNoMore, joined, type Part, readPart, receivedWord } from './part.ts'

/** Most bytes of incomplete messages that a connection holds: in total, and of the requests of one caller. */
const MAX_PARTS = 256 * 1024 * 1024
const MAX_PARTS_OF_ONE = 2 * MAX_MESSAGE
/**
 * Bytes added to the size of each part when it is counted: otherwise many tiny parts would use far more memory than is
 * counted.
 */
const COST_OF_PART = 256
/** Bytes counted for each message in addition to its parts and headers. */
const COST_OF_MESSAGE = 1_024
/**
 * While there is no room, a request that is older than `PATIENCE` milliseconds and arrives at fewer bytes per second
 * than `LEAST_PACE` is refused: otherwise a sender of one byte now and then would occupy the room for ever.
 */
const PATIENCE = 2_000
const LEAST_PACE = 64 * 1024
/** Least milliseconds between two searches for slow requests after a search that has not freed enough room. */
const CLEARING = 100

/** The methods of a connection that assembling messages needs. */
type PartsCarrier = Pick<Carrier, 'isConnected' | 'publish' | 'newInbox' | 'listen' | 'flush'>

/** A message of which some parts are missing. */
interface Assembly {
  readonly first: Carried
  readonly id: string
  readonly size: number
  /** The inbox of the caller that has sent the request; empty for a message to our own inbox. */
  readonly owner: string
  readonly deliver: (message: Carried) => void
  /** The address of further parts. */
  readonly address: string
  /** The key of the assembly in the Map. */
  readonly place: string
  /** The message is a request to a service, which acknowledges each part. */
  readonly isRequest: boolean
  readonly chunks: Uint8Array[]
  received: number
  /** Bytes that count against the limits: parts, headers, and the overhead of storing them. */
  cost: number
  readonly startedAt: number
  heardAt: number
}

/** The incomplete messages of one connection. */
export class Assemblies {
  readonly #carrier: PartsCarrier
  /** The inbox for further parts of requests; empty until the first request in parts arrives. */
  #inbox = ''
  /**
   * Resolves when the engine delivers messages to that inbox. This may take a while, and parts that arrive earlier
   * would be lost.
   */
  #isOpen: Promise<void> | undefined
  /**
   * Keyed by the address of the parts. For messages to our own inbox, the id of the message is added, because two
   * services may answer one call.
   */
  readonly #assemblies = new Map<string, Assembly>()
  readonly #held = new Map<string, number>()
  #heldSize = 0
  #nextClearing = 0
  #check: ReturnType<typeof setTimeout> | undefined
  #whole: (() => void) | undefined

  /** @param carrier sends the acknowledgements of parts */
  constructor(carrier: PartsCarrier) {
    this.#carrier = carrier
  }

  /** Bytes of incomplete messages. */
  get size(): Usage {
    return { current: this.#heldSize, limit: MAX_PARTS }
  }

  /** Resolves when no message is incomplete any more. */
  async ended(): Promise<void> {
    if (this.#assemblies.size > 0) await new Promise<void>((resolve) => (this.#whole = resolve))
  }

  /** Drops all incomplete messages. */
  close(): void {
    clearTimeout(this.#check)
    this.#check = undefined
    this.#assemblies.clear()
    this.#held.clear()
    this.#heldSize = 0
    this.#whole?.()
  }

  /** Takes the first part of a request, which has arrived at a service. */
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
    // If the server is lost meanwhile, the connection listens again before it publishes anything.
    this.#isOpen = this.#carrier.flush().catch(() => {})
  }

  /** Takes a further part of a request, or a notice: no more parts follow, or the caller has gone. */
  #more(message: Carried): void {
    const assembly = this.#assemblies.get(message.address)
    if (assembly === undefined) return
    if (message.isNobody === true || isNoMore(message.words)) return this.#drop(assembly)
    const part = readPart(message.words)
    if (part !== undefined) this.#add(assembly, message, part)
  }

  /** Takes a part of a message to one of our own inboxes: the first part or any other. */
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
    // The part arrived twice.
    if (id === assembly.id && index < chunks.length) return
    if (id !== assembly.id || index !== chunks.length || size !== assembly.size)
      return this.#end(assembly, lost())
    // An empty part is refused, because it must not count as a sign of life.
    if (bytes.length === 0 || assembly.received + bytes.length > assembly.size)
      return this.#end(assembly, new ProtocolError('A part of a message does not match its first part'))
    if (!this.#charge(assembly, bytes.length + COST_OF_PART)) return
    assembly.received += bytes.length
    assembly.heardAt = performance.now()
    // The bytes are copied, because they lie in a chunk from the socket.
    chunks.push(new Uint8Array(bytes))
    if (assembly.received === assembly.size) return this.#end(assembly, undefined, message)
    if (assembly.isRequest) void this.#acknowledge(assembly)
  }

  /**
   * Counts the memory of a message.
   * @returns false if there is no room; the message has ended then
   */
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

  /** Refuses requests that arrive too slowly, the oldest first, until there is room. */
  #makeRoom(size: number): void {
    const now = performance.now()
    if (now < this.#nextClearing) return
    for (const one of [...this.#assemblies.values()]) {
      if (this.#heldSize + size <= MAX_PARTS) return
      const time = now - one.startedAt
      const isSlow = one.isRequest && time > PATIENCE && (one.received * 1_000) / time < LEAST_PACE
      if (isSlow) this.#end(one, this.#full(one))
    }
    // A search takes time, and a sender of many bytes could cause a search for each part.
    this.#nextClearing = now + CLEARING
  }

  /** Acknowledges a part of a request, so that its sender sends more. */
  async #acknowledge({ first, received, address }: Assembly): Promise<void> {
    await this.#isOpen
    try {
      this.#carrier.publish(first.reply, receivedWord(received), address)
    } catch {
      // The server is lost, and more messages wait for it than may be held. The sender gives up by itself.
    }
  }

  #full({ owner, isRequest }: Assembly): Error {
    const ofOne = this.#held.get(owner) ?? 0
    const message = `${this.#heldSize} bytes of incomplete messages are already held, ${ofOne} of them from this caller; send large messages one after the other`
    return isRequest ? new RejectedError(message) : new OverloadedError(message)
  }

  /**
   * Ends an assembly, because the message is complete or has failed.
   * @param last the last part of the message
   */
  #end(assembly: Assembly, refusal: Error | undefined, last = assembly.first): void {
    const { first, isRequest, chunks, deliver } = assembly
    this.#remove(assembly)
    // The number of the message is in the reply address of its last part.
    const message = { ...first, reply: isRequest ? first.reply : last.reply }
    deliver(refusal === undefined ? { ...message, words: joined(chunks) } : { ...message, refusal })
    if (this.#assemblies.size === 0) this.#whole?.()
  }

  /**
   * Drops a request: its caller sends the further parts to another process or not at all, and expects no answer from
   * this process.
   */
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

/** Approximate bytes of headers. */
function sizeOf(headers: Carried['headers']): number {
  let size = 0
  for (const name in headers) size += 2 * (name.length + (headers[name] ?? '').length)
  return size
}

/** The inbox at the beginning of an address. */
function ownerOf(address: string): string {
  return address.slice(0, address.lastIndexOf('.') + 1)
}

function lost(): Error {
  return new ConnectionError('A part of a message was lost', true)
}

function tooLarge(size: number): Error {
  return new PayloadTooLargeError('the size of a message', MAX_MESSAGE, size, 'bytes')
}
