/**
 * Joins fragments. All metadata precedes all data, and one limit applies to both. Protocol.md, "Fragmentation and
 * Reassembly".
 */
import {
  ByteList,
  concatBytes,
  PayloadTooLargeError,
  ProtocolError
} from '@elysia-microservices/transport/kit'
import { newPayload, type Payload } from './payload.ts'

/** The first frame of a fragmented payload, and the fragments that have arrived. */
interface Pending<First> {
  readonly first: First
  readonly metadata: ByteList
  readonly data: ByteList
  hasMetadata: boolean
}

/** Most incomplete payloads. The limit is needed because empty payloads have no bytes that count. */
const MAX_INCOMPLETE = 65_536

/** The incomplete payloads of one connection. */
export class Reassembler<First> {
  readonly #maxMessageSize: number
  /** Incomplete payloads by stream. Made for the first fragment, because most connections get none. */
  #pending: Map<number, Pending<First>> | undefined
  /** Bytes of all incomplete payloads. */
  #size = 0

  /** @param maxMessageSize most bytes of all incomplete payloads together */
  constructor(maxMessageSize: number) {
    this.#maxMessageSize = maxMessageSize
  }

  /** Whether a stream has an incomplete payload. */
  has(streamId: number): boolean {
    return this.#pending?.has(streamId) === true
  }

  /** Adds a fragment that is not the last. The first fragment of a stream begins a payload, and `first` stays with it. */
  add(streamId: number, first: First, payload: Payload): void {
    this.#append(this.#pending?.get(streamId) ?? this.#begin(streamId, first), payload)
  }

  #begin(streamId: number, first: First): Pending<First> {
    this.#pending ??= new Map()
    if (this.#pending.size >= MAX_INCOMPLETE)
      throw new ProtocolError(`The peer has more than ${MAX_INCOMPLETE} incomplete messages`)
    const pending = { first, metadata: new ByteList(), data: new ByteList(), hasMetadata: false }
    this.#pending.set(streamId, pending)
    return pending
  }

  /** Adds the last fragment and returns the whole payload; `undefined` if no payload was begun. */
  end(streamId: number, payload: Payload): { first: First; payload: Payload } | undefined {
    const pending = this.#pending?.get(streamId)
    if (pending === undefined) return undefined
    this.#append(pending, payload)
    this.drop(streamId)
    const metadataEnd = pending.metadata.length
    const buffer = concatBytes([...pending.metadata.take(), ...pending.data.take()])
    const metadataStart = pending.hasMetadata ? 0 : -1
    return {
      first: pending.first,
      payload: newPayload(buffer, metadataStart, metadataEnd, metadataEnd, buffer.length)
    }
  }

  /** Drops the fragments of a stream that was cancelled or has failed. */
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
