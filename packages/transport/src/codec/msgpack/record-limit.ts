/** Limits the memory that a peer can take by defining records, whose keys the decoder remembers. */
import { ProtocolError } from '../../errors/index.ts'

/** Most records of one connection; an encoder of this library keeps 32 at a time. */
const MAX_RECORDS = 64
/** Most keys of all records together. */
const MAX_KEYS = 1_000_000
/** Bytes between two checks, because a check costs too much for every message. */
const BYTES_BETWEEN = 64 * 1024

/** A decoder that remembers records. */
export interface Remembering {
  readonly structures?: readonly (readonly string[])[]
}

/** Watches the records of one decoder. */
export class RecordLimit {
  #bytes = 0

  /**
   * Counts a message of this many bytes, and checks the records now and then.
   * @throws {ProtocolError} the peer has defined too many records
   */
  check(decoder: Remembering, bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < BYTES_BETWEEN) return
    this.#bytes = 0
    // A record may have a negative number, which is an ordinary key of the array: so all values count.
    const records = Object.values(decoder.structures ?? []).filter(Array.isArray)
    const keys = records.reduce((sum, record) => sum + record.length, 0)
    if (records.length > MAX_RECORDS)
      throw new ProtocolError(
        `The peer has defined more than ${MAX_RECORDS} records of MessagePack on one connection`
      )
    if (keys > MAX_KEYS)
      throw new ProtocolError(
        `The peer's records of MessagePack have more than ${MAX_KEYS} keys together; send objects with ever new keys as a Map`
      )
  }
}
