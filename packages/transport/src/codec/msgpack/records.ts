/** MessagePack between two ends of this library: the keys of an object are sent once. */
import { Packr } from 'msgpackr/pack'
import { Unpackr } from 'msgpackr/unpack'
import type { Codec, Encoded } from '../codec.ts'
import { COMMON, pack, unpack } from './packing.ts'
import { RecordLimit, type Remembering } from './record-limit.ts'

export const MSGPACK_RECORDS = 'application/vnd.elysia-microservices.records+msgpack'
const OPTIONS = { ...COMMON, sequential: true } as const

/**
 * The codec of one connection. The first object with a set of keys sends the keys and a number; later ones send only
 * the number. Dates, Maps, Sets, bigints, typed arrays and `undefined` keep their type.
 */
export class MsgpackRecords implements Codec {
  readonly mimeType = MSGPACK_RECORDS
  readonly stateful = true
  // One remembers the keys sent, the other the keys received. Each has a copy of the options, which msgpackr changes.
  #packr = new Packr({ ...OPTIONS })
  readonly #unpackr = new Unpackr({ ...OPTIONS })
  readonly #limit = new RecordLimit()

  encode(value: unknown): Encoded {
    if (value === undefined) return ''
    try {
      return pack(this.#packr, MSGPACK_RECORDS, value, asItIs)
    } catch (error) {
      this.takenBack()
      throw error
    }
  }

  decode(buffer: Uint8Array, start: number, end: number): unknown {
    const value = unpack(this.#unpackr, MSGPACK_RECORDS, buffer, start, end)
    this.#limit.check(this.#unpackr as Remembering, end - start)
    return value
  }

  /** Starts over, so that keys which the other side has not seen are sent again; new numbers replace the known ones. */
  takenBack(): void {
    this.#packr = new Packr({ ...OPTIONS })
  }
}

/** Records have a form for everything that is carried. */
function asItIs(value: object | bigint): unknown {
  return value
}
