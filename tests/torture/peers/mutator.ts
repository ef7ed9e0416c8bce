/** Creates invalid frames from valid ones. */
import { frame, Type, uint } from './frames.ts'

type Random = () => number

/** A recorded conversation of one side, frame by frame. */
export interface Recording {
  readonly protocol: 'nest' | 'rsocket'
  readonly frames: readonly Buffer[]
}

/** Splits recorded bytes into frames. */
export function split(protocol: 'nest' | 'rsocket', said: Buffer): Buffer[] {
  const frames: Buffer[] = []
  for (let at = 0; at < said.length; ) {
    const end = protocol === 'nest' ? nestEnd(said, at) : at + 3 + said.readUIntBE(at, 3)
    frames.push(said.subarray(at, end))
    at = end
  }
  return frames
}

/** The end of a frame of NestJS's protocol, whose length counts UTF-16 units. */
function nestEnd(said: Buffer, at: number): number {
  const hash = said.indexOf('#', at)
  const units = Number(said.toString('utf8', at, hash))
  return hash + 1 + Buffer.byteLength(said.toString('utf8', hash + 1).slice(0, units))
}

const pick = <Item>(items: readonly Item[], random: Random) =>
  items[Math.floor(random() * items.length)] as Item

/** Mutates the frames of recordings, with one sequence of random numbers. */
export class Mutator {
  readonly #recordings: readonly Recording[]
  readonly #random: Random
  /** The number of frames that were changed so far. */
  mutated = 0

  constructor(recordings: readonly Recording[], random: Random) {
    this.#recordings = recordings
    this.#random = random
  }

  /** A recording in which up to this many frames are mutated. */
  conversation(most: number): { protocol: 'nest' | 'rsocket'; frames: Buffer[] } {
    const random = this.#random
    const { protocol, frames } = pick(this.#recordings, random)
    const chosen = new Set(
      Array.from({ length: 1 + Math.floor(random() * most) }, () => Math.floor(random() * frames.length))
    )
    return {
      protocol,
      frames: frames.map((bytes, n) => (chosen.has(n) ? this.mutate(protocol, bytes) : bytes))
    }
  }

  /** Changes a frame in a random way. The result may by chance be valid. */
  mutate(protocol: 'nest' | 'rsocket', original: Buffer): Buffer {
    const random = this.#random
    this.mutated++
    const bytes = Buffer.from(original)
    const at = Math.floor(random() * bytes.length)
    const other = () => pick(pick(this.#recordings, random).frames, random)
    switch (Math.floor(random() * 9)) {
      case 0:
        bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8))
        return bytes
      case 1:
        bytes[at] = Math.floor(random() * 256)
        return bytes
      case 2:
        return bytes.subarray(0, at)
      case 3:
        return Buffer.concat([bytes, bytes])
      case 4: {
        const tail = other()
        return Buffer.concat([bytes.subarray(0, at), tail.subarray(Math.floor(random() * tail.length))])
      }
      case 5:
        return other()
      case 6:
        return lie(protocol, bytes, random)
      case 7:
        return protocol === 'nest' ? strangeJson(bytes, random) : strangeHeader(bytes, random)
      default: {
        // Bytes are removed or inserted in the middle, and the length field agrees.
        const hole = at + Math.floor(random() * 8)
        const content = Buffer.concat([
          bytes.subarray(0, at),
          bytes.subarray(random() < 0.5 ? hole : at >> 1)
        ])
        return protocol === 'nest' ? content : relength(content)
      }
    }
  }
}

/** Changes the length field, so that it contradicts the length. */
function lie(protocol: 'nest' | 'rsocket', bytes: Buffer, random: Random): Buffer {
  const near = Math.floor(random() * 9) - 4
  if (protocol === 'rsocket') {
    const length = bytes.readUIntBE(0, 3)
    const lied = random() < 0.5 ? length + near : random() * 0xff_ff
    bytes.writeUIntBE(Math.max(0, Math.floor(lied)) & 0xff_ff_ff, 0, 3)
    return bytes
  }
  const hash = bytes.indexOf('#')
  const length = Number(bytes.toString('latin1', 0, hash))
  const lies = [
    length + near,
    -length,
    length * 1_000,
    0,
    '',
    'x',
    `${length}.5`,
    `0x${length}`,
    `${length}#`
  ]
  return Buffer.concat([Buffer.from(String(pick(lies, random))), bytes.subarray(hash)])
}

/** Changes the stream id, the type or the flags. */
function strangeHeader(bytes: Buffer, random: Random): Buffer {
  if (bytes.length < 9) return frame(0, Type.EXT, 0)
  const streamIds = [0, 1, 2, 3, 0x7fffffff, Math.floor(random() * 20)]
  if (random() < 0.5) bytes.writeUInt32BE(pick(streamIds, random), 3)
  if (random() < 0.7) bytes.writeUInt16BE(Math.floor(random() * 0x10000), 7)
  return bytes
}

/** A frame with valid JSON that is not a valid packet. */
function strangeJson(bytes: Buffer, random: Random): Buffer {
  const json = bytes.toString('utf8', bytes.indexOf('#') + 1)
  const keys = ['pattern', 'data', 'id', 'response', 'isDisposed', 'err', '__proto__', 'metadata']
  const values = ['null', '{}', '[]', '-1e999', '"😀"', 'true', '{"__proto__":{"polluted":1}}', '"\\ud800"']
  const strange = `"${pick(keys, random)}":${pick(values, random)}`
  const packet = random() < 0.5 ? `{${strange},${json.slice(1)}` : `{${strange}}`
  return Buffer.from(`${packet.length}#${packet}`)
}

function relength(bytes: Buffer): Buffer {
  if (bytes.length < 3) return bytes
  return Buffer.concat([uint(3, bytes.length - 3), bytes.subarray(3)])
}
