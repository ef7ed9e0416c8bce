/** Bounds what a peer can make us remember: the keys of records it has defined. */
import { ProtocolError } from '../../errors/index.ts'

/** Records of one connection: an encoder of this library keeps 32 at a time. */
const MAX_RECORDS = 64
/** Keys of all records together. */
const MAX_KEYS = 1_000_000
/** Looked at after so many bytes: that is how much more than the limit there may be. */
const BYTES_BETWEEN = 64 * 1024

/** A decoder with what it remembers. */
export interface Remembering {
  readonly structures?: readonly (readonly string[])[]
}

/** Watches one decoder. */
export class RecordLimit {
  #bytes = 0

  /**
   * Counts a message of `bytes`.
   * @throws {ProtocolError} the peer has defined too many records
   */
  check(decoder: Remembering, bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < BYTES_BETWEEN) return
    this.#bytes = 0
    // Numbers of records may be negative too: they are keys like others then.
    const records = Object.values(decoder.structures ?? []).filter(Array.isArray)
    const keys = records.reduce((sum, record) => sum + record.length, 0)
    if (records.length > MAX_RECORDS)
      throw new ProtocolError(`A connection has defined more than ${MAX_RECORDS} records`)
    if (keys > MAX_KEYS)
      throw new ProtocolError(
        `The records of a connection have more than ${MAX_KEYS} keys together; objects with ever new keys are better sent as a Map`
      )
  }
}
