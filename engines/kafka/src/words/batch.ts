/** Reads and writes batches of records: the form in which Kafka stores and sends records, in its format 2. */
import { compressionsAlgorithmsByBitmask, crc32c } from '@platformatic/kafka'
import { Cursor, Fetched, putVarint, varintSize } from './record.ts'

/** Bytes of a batch in front of its records, and bytes in front of the part whose length the batch states. */
const HEAD = 61
const BEFORE_LENGTH = 12
const FORMAT = 2
/**
 * Bits of a batch's attributes: the compression, whether the batch belongs to a transaction, and whether it only has
 * the marker that ends a transaction.
 */
const COMPRESSION = 0x07
const TRANSACTIONAL = 0x10
const CONTROL = 0x20
/**
 * Bytes of records that share one buffer. An event that takes long keeps its buffer in memory, so the buffer must not
 * hold everything that was fetched together.
 */
const KEPT_TOGETHER = 32 * 1024

/** Bytes, at most, that a record needs in a batch besides its own. */
export const COST_OF_RECORD = 16

/** The producer that has numbered the records of a batch, and the first sequence number. */
export interface Numbering {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** The sequence number of the first record. */
  readonly sequence: number
}

const NOBODY: Numbering = { producerId: -1n, producerEpoch: -1, sequence: -1 }

/**
 * Writes a batch. @param records as `writeRecord` returns them @param timestamp of all records, in milliseconds since
 * 1970
 */
export function writeBatch(records: readonly Buffer[], timestamp: number, by: Numbering = NOBODY): Buffer {
  let size = HEAD
  for (const [index, record] of records.entries()) {
    const length = 2 + varintSize(index) + record.length
    size += varintSize(length) + length
  }
  const bytes = Buffer.allocUnsafe(size)
  bytes.writeBigInt64BE(0n, 0)
  bytes.writeInt32BE(size - BEFORE_LENGTH, 8)
  bytes.writeInt32BE(0, 12)
  bytes[16] = FORMAT
  bytes.writeInt16BE(0, 21)
  bytes.writeInt32BE(records.length - 1, 23)
  bytes.writeBigInt64BE(BigInt(timestamp), 27)
  bytes.writeBigInt64BE(BigInt(timestamp), 35)
  bytes.writeBigInt64BE(by.producerId, 43)
  bytes.writeInt16BE(by.producerEpoch, 51)
  bytes.writeInt32BE(by.sequence, 53)
  bytes.writeInt32BE(records.length, 57)
  let at = HEAD
  for (const [index, record] of records.entries()) {
    at = putVarint(bytes, 2 + varintSize(index) + record.length, at)
    // The attributes of the record, and its time relative to the first record: both are 0.
    bytes[at++] = 0
    bytes[at++] = 0
    at = putVarint(bytes, index, at)
    bytes.set(record, at)
    at += record.length
  }
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

/** A transaction that its producer has aborted. */
export interface Aborted {
  readonly producerId: bigint
  /** The offset of the transaction's first record in the partition. */
  readonly first: number
}

/** The records that were read from a partition. */
export interface ReadRecords {
  readonly records: Fetched[]
  /** The position behind the last batch. */
  readonly next: number
}

/**
 * Reads batches. Brokers send whole batches, so the first batch may begin before the wanted record; the last batch
 * may be cut off.
 * @param from the offset of the first wanted record
 * @param aborted the transactions whose records are left out
 * @throws {Error} a batch is malformed, has another format, or has a compression that this runtime does not know
 */
export function readBatches(bytes: Buffer, from: number, aborted: readonly Aborted[] = NONE): ReadRecords {
  const records: Fetched[] = []
  const transactions = aborted.length === 0 ? undefined : new AbortedTransactions(aborted)
  let next = from
  for (let at = 0; at + HEAD <= bytes.length; ) {
    const behind = at + BEFORE_LENGTH + bytes.readInt32BE(at + 8)
    if (behind > bytes.length || behind < at + HEAD) break
    if (bytes[at + 16] !== FORMAT)
      throw new Error(`Kafka sent records in format ${bytes[at + 16]}; only format ${FORMAT} can be read`)
    const first = Number(bytes.readBigInt64BE(at))
    const attributes = bytes.readInt16BE(at + 21)
    next = first + bytes.readInt32BE(at + 23) + 1
    const isAborted = transactions?.includes(bytes.readBigInt64BE(at + 43), attributes, next) === true
    if ((attributes & CONTROL) === 0 && !isAborted) {
      const timestamp = Number(bytes.readBigInt64BE(at + 27))
      const body = bytes.subarray(at + HEAD, behind)
      const inflate = compressionsAlgorithmsByBitmask[attributes & COMPRESSION]
      const plain = (attributes & COMPRESSION) === 0 ? body : inflate?.decompressSync(body)
      if (plain === undefined)
        throw new Error(
          `Kafka sent records with compression ${attributes & COMPRESSION}, which this runtime cannot read`
        )
      readBatch(plain, bytes.readInt32BE(at + 57), { first, timestamp, from }, records)
    }
    at = behind
  }
  return { records, next }
}

const NONE: readonly Aborted[] = []

/** Tells which batches belong to aborted transactions. The batches are asked about in their order. */
class AbortedTransactions {
  /** In the order in which they begin. */
  readonly #all: readonly Aborted[]
  /** How many of them begin in front of the batches asked about so far. */
  #passed = 0
  /** The producers whose aborted transaction has begun and not ended yet. */
  readonly #begun = new Set<bigint>()

  constructor(aborted: readonly Aborted[]) {
    this.#all = aborted.toSorted((one, other) => one.first - other.first)
  }

  /** @param next the offset behind the batch */
  includes(producerId: bigint, attributes: number, next: number): boolean {
    for (
      let one = this.#all[this.#passed];
      one !== undefined && one.first < next;
      one = this.#all[this.#passed]
    ) {
      this.#begun.add(one.producerId)
      this.#passed++
    }
    // A producer has one transaction at a time, so its next marker ends the aborted one.
    if ((attributes & CONTROL) !== 0) this.#begun.delete(producerId)
    return (attributes & TRANSACTIONAL) !== 0 && this.#begun.has(producerId)
  }
}

function readBatch(
  plain: Buffer,
  count: number,
  { first, timestamp, from }: { readonly first: number; readonly timestamp: number; readonly from: number },
  records: Fetched[]
): void {
  const whole = new Cursor(plain)
  for (let left = count; left > 0 && whole.at < plain.length; ) {
    const start = whole.at
    let together = 0
    while (together < left && whole.at < plain.length && whole.at - start < KEPT_TOGETHER) {
      whole.pass()
      together++
    }
    left -= together
    const kept = new Cursor(Buffer.from(plain.subarray(start, whole.at)))
    for (; together > 0; together--) {
      const length = kept.varint()
      const end = kept.at + length
      if (length < 0 || end > kept.bytes.length)
        throw new Error(
          `Kafka sent a malformed record: it states ${length} bytes, and ${kept.bytes.length - kept.at} are left`
        )
      // Skips the attributes of the record, which Kafka does not use.
      kept.at++
      const time = timestamp + kept.varint()
      const offset = first + kept.varint()
      if (offset >= from) records.push(new Fetched(offset, time, kept, end))
      kept.at = end
    }
  }
}
