/** One partition of a topic of the fake cluster: its records, their producers, and transactions. */
import { Code } from '../connection/errors.ts'
import { type Batch, EARLIEST, Isolation, LATEST } from '../driver.ts'
import { type Aborted, type Numbering, writeBatch } from '../words/batch.ts'

/** How many of its last batches of a producer a broker recognizes when they come again. */
const RECOGNIZED = 5
/** Bytes of the answer for one partition, unless its first batch is larger. */
const MOST_OF_ONE = 1024 * 1024
/** The place of the attributes in a batch, and two of them. */
const ATTRIBUTES = 21
const TRANSACTIONAL = 0x10
const CONTROL = 0x20

interface KeptBatch {
  readonly first: number
  readonly next: number
  readonly timestamp: number
  readonly bytes: Buffer
}

interface KeptSequence {
  readonly epoch: number
  readonly first: number
  readonly next: number
  readonly offset: number
}

/** The outcome of a batch; see `Produced`. */
export interface Appended {
  readonly errorCode: number
  readonly baseOffset: bigint
}

/** The part of an answer to a fetch request that one partition gives. */
export interface Read {
  readonly errorCode: number
  readonly aborted: readonly Aborted[]
  readonly bytes: Buffer
}

const NOTHING = Buffer.alloc(0)

export class FakeLog {
  /** Bytes of the largest batch. */
  mostBytes = 1_048_588
  /** Called when there is more to read. */
  readonly waiting = new Set<() => void>()
  #batches: KeptBatch[] = []
  #first = 0
  #end = 0
  /** The last batches of each producer. */
  readonly #sequences = new Map<bigint, KeptSequence[]>()
  /** The first records of the open transactions, by producer. */
  readonly #open = new Map<bigint, number>()
  readonly #aborted: (Aborted & { readonly last: number })[] = []

  get end(): bigint {
    return BigInt(this.#end)
  }

  append({ records, timestamp, by }: Pick<Batch, 'records' | 'timestamp' | 'by'>, attributes = 0): Appended {
    const bytes = writeBatch(records, timestamp, by)
    if (bytes.length > this.mostBytes) return refused(Code.messageTooLarge)
    const known = by === undefined ? undefined : this.#numbered(by, records.length)
    if (known !== undefined) return known
    const offset = this.#put(bytes, records.length, timestamp, attributes)
    if (by !== undefined) {
      const { producerId, producerEpoch: epoch, sequence: first } = by
      const next = (first + records.length) % 2 ** 31
      const all = this.#sequences.get(producerId) ?? []
      this.#sequences.set(producerId, [...all.slice(1 - RECOGNIZED), { epoch, first, next, offset }])
    }
    return { errorCode: 0, baseOffset: BigInt(offset) }
  }

  /** The answer to a batch that is not stored, because of its number. */
  #numbered({ producerId, producerEpoch, sequence }: Numbering, count: number): Appended | undefined {
    const all = this.#sequences.get(producerId) ?? []
    const last = all.at(-1)
    // A broker that knows nothing of a producer takes any number.
    if (last === undefined) return undefined
    if (producerEpoch < last.epoch) return refused(Code.invalidProducerEpoch)
    const next = (sequence + count) % 2 ** 31
    const same = all.find((one) => one.first === sequence && one.next === next)
    if (same !== undefined) return { errorCode: 0, baseOffset: BigInt(same.offset) }
    return last.next === sequence ? undefined : refused(Code.outOfOrderSequence)
  }

  #put(bytes: Buffer, count: number, timestamp: number, attributes: number): number {
    const first = this.#end
    bytes.writeBigInt64BE(BigInt(first), 0)
    bytes.writeInt16BE(attributes, ATTRIBUTES)
    this.#end += count
    this.#batches.push({ first, next: this.#end, timestamp, bytes })
    this.#wake()
    return first
  }

  #wake(): void {
    for (const wake of [...this.waiting]) wake()
  }

  // ── transactions ─────────────────────────────────────────────────────────────────────────────────────

  /** Stores records in the transaction of a producer, which begins with the first ones. */
  appendTo(producerId: bigint, records: readonly Buffer[], timestamp: number): void {
    if (!this.#open.has(producerId)) this.#open.set(producerId, this.#end)
    const by = { producerId, producerEpoch: 0, sequence: 0 }
    this.#put(writeBatch(records, timestamp, by), records.length, timestamp, TRANSACTIONAL)
  }

  /** Ends the transaction of a producer: its marker takes one position. */
  endOf(producerId: bigint, isCommitted: boolean, timestamp: number): void {
    const first = this.#open.get(producerId)
    if (first === undefined) return
    this.#open.delete(producerId)
    if (!isCommitted) this.#aborted.push({ producerId, first, last: this.#end })
    const by = { producerId, producerEpoch: 0, sequence: -1 }
    this.#put(writeBatch([Buffer.alloc(3, 1)], timestamp, by), 1, timestamp, TRANSACTIONAL | CONTROL)
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────────────

  /** The position up to which an isolation level reads. */
  #limit(isolation: Isolation): number {
    return isolation === Isolation.committed ? Math.min(this.#end, ...this.#open.values()) : this.#end
  }

  read(next: bigint, isolation: Isolation): Read {
    const from = Number(next)
    if (from < this.#first || from > this.#end)
      return { errorCode: Code.offsetOutOfRange, aborted: [], bytes: NOTHING }
    const limit = this.#limit(isolation)
    const parts: Buffer[] = []
    let size = 0
    let upTo = from
    for (const batch of this.#batches) {
      if (batch.next <= from || batch.first >= limit) continue
      if (size > 0 && size + batch.bytes.length > MOST_OF_ONE) break
      parts.push(batch.bytes)
      size += batch.bytes.length
      upTo = batch.next
    }
    const aborted =
      isolation === Isolation.committed
        ? this.#aborted.filter(({ first, last }) => last >= from && first < upTo)
        : []
    return { errorCode: 0, aborted, bytes: parts.length === 0 ? NOTHING : Buffer.concat(parts) }
  }

  /** The position of the first record of a time; see `listOffsets`. */
  offsetAt(timestamp: bigint, isolation: Isolation): bigint {
    if (timestamp === LATEST) return BigInt(this.#limit(isolation))
    if (timestamp === EARLIEST) return BigInt(this.#first)
    const found = this.#batches.find((batch) => batch.timestamp >= Number(timestamp))
    return found === undefined ? -1n : BigInt(Math.max(found.first, this.#first))
  }

  // ── what gets lost ───────────────────────────────────────────────────────────────────────────────────

  /** Deletes all records in front of a position. */
  deleteUpTo(position: number): void {
    this.#first = Math.max(this.#first, Math.min(position, this.#end))
    this.#batches = this.#batches.filter(({ next }) => next > this.#first)
  }

  /** Deletes records that are older than a time. */
  expire(before: number): void {
    let kept = this.#first
    for (const { timestamp, next } of this.#batches) {
      if (timestamp >= before) break
      kept = next
    }
    this.deleteUpTo(kept)
  }

  /** Loses the end of the partition: an unclean election has made a replica its leader that had less. */
  truncate(position: number): void {
    this.#batches = this.#batches.filter(({ first }) => first < position)
    this.#end = Math.min(this.#end, this.#batches.at(-1)?.next ?? this.#first)
    this.#sequences.clear()
    this.#wake()
  }

  /** Forgets the producers, as brokers do with those that have been silent for long. */
  forgetProducers(): void {
    this.#sequences.clear()
  }
}

function refused(errorCode: number): Appended {
  return { errorCode, baseOffset: -1n }
}
