/**
 * Puts fragments together again. All metadata comes before any data; the bound is over both. Protocol.md,
 * "Fragmentation and Reassembly".
 */
import { ByteList, PayloadTooLargeError, ProtocolError } from '@elysia-microservices/transport/kit'
import { newPayload, type Payload } from './payload.ts'

/** The first frame of a fragmented payload, and the pieces that have come so far. */
interface Pending<First> {
  readonly first: First
  readonly metadata: ByteList
  readonly data: ByteList
  hasMetadata: boolean
}

/** Payloads that may be incomplete at the same time: those without content would have no other bound. */
const MAX_INCOMPLETE = 65_536

/** Payloads of one connection of which not all fragments have come. */
export class Reassembler<First> {
  readonly #maxMessageSize: number
  /** Made when the first fragment comes: most connections see none. */
  #pending: Map<number, Pending<First>> | undefined
  /** Bytes of all payloads that are not complete. */
  #size = 0

  /** @param maxMessageSize bytes that the incomplete payloads of a connection may have in all */
  constructor(maxMessageSize: number) {
    this.#maxMessageSize = maxMessageSize
  }

  /** Whether fragments of a stream are waiting for more. */
  has(streamId: number): boolean {
    return this.#pending?.has(streamId) === true
  }

  /** Begins a payload with its first fragment. What is kept is copied. */
  begin(streamId: number, first: First, payload: Payload): void {
    const pending: Pending<First> = {
      first,
      metadata: new ByteList(),
      data: new ByteList(),
      hasMetadata: false
    }
    this.#pending ??= new Map()
    if (this.#pending.size >= MAX_INCOMPLETE)
      throw new ProtocolError(`More than ${MAX_INCOMPLETE} messages have begun and are not complete`)
    this.#pending.set(streamId, pending)
    this.#append(pending, payload)
  }

  /** Adds a fragment that is not the last. */
  add(streamId: number, payload: Payload): void {
    const pending = this.#pending?.get(streamId)
    if (pending !== undefined) this.#append(pending, payload)
  }

  /** Adds the last fragment and gives the whole; `undefined` if nothing was begun. */
  end(streamId: number, payload: Payload): { first: First; payload: Payload } | undefined {
    const pending = this.#pending?.get(streamId)
    if (pending === undefined) return undefined
    this.#append(pending, payload)
    this.drop(streamId)
    const metadataEnd = pending.metadata.length
    const buffer = Buffer.concat([...pending.metadata.take(), ...pending.data.take()])
    const metadataStart = pending.hasMetadata ? 0 : -1
    return {
      first: pending.first,
      payload: newPayload(buffer, metadataStart, metadataEnd, metadataEnd, buffer.length)
    }
  }

  /** Forgets what has come: the stream was cancelled or has failed. */
  drop(streamId: number): void {
    const pending = this.#pending?.get(streamId)
    if (pending === undefined) return
    this.#size -= pending.metadata.length + pending.data.length
    this.#pending?.delete(streamId)
  }

  #append(pending: Pending<First>, payload: Payload): void {
    const { buffer, metadataStart, metadataEnd, dataStart, dataEnd } = payload
    const size = dataEnd - dataStart + (metadataStart < 0 ? 0 : metadataEnd - metadataStart)
    if (this.#size + size > this.#maxMessageSize) {
      throw new PayloadTooLargeError('limits.messageSize', this.#maxMessageSize, this.#size + size, 'bytes')
    }
    this.#size += size
    if (metadataStart >= 0) {
      pending.hasMetadata = true
      pending.metadata.add(buffer.subarray(metadataStart, metadataEnd))
    }
    pending.data.add(buffer.subarray(dataStart, dataEnd))
  }
}
