/** The options for the payload of an echo, and for the codec of our own client, which both commands share. */
import { UsageError } from '../errors.ts'
import { makePayload, type PayloadShape, type ShapeName, shapeNames, shapes } from '../payload/payload.ts'
import { type Codec, codecs, type Protocol } from '../peers/echo-client.ts'
import { choice, type Flag, integer, several } from './flags.ts'

export const payloadFlags = {
  shape: choice(shapeNames, 'what is echoed; default flat, a string'),
  payload: integer(0, 10_000_000, 'bytes of it; default 200 for flat, 16384 for binary, 262144 for large'),
  codec: choice(codecs, 'how the elysia client encodes it; default json')
}

export interface PayloadOptions {
  readonly shape: ShapeName
  /** The size in bytes; a shape with a fixed size has its bytes as JSON. */
  readonly payload: number
}

/** @throws UsageError if a size is given for a shape with a fixed size */
export function readPayload(
  shape: ShapeName | undefined = 'flat',
  payload: number | undefined
): PayloadOptions {
  const { defaultBytes } = shapes[shape]
  if (defaultBytes === undefined && payload !== undefined) {
    throw new UsageError(`--payload: got '${payload}' with --shape=${shape}, which has a fixed size`)
  }
  return { shape, payload: payload ?? defaultBytes ?? makePayload(shape).bytes }
}

/** Several payloads, such as `flat:1024`. */
export const payloadsFlag = (help: string): Flag<readonly PayloadOptions[]> =>
  several(
    `one or more of ${shapeNames.join(', ')}, with a size as in flat:1024, separated by commas`,
    help,
    readPayloadPart
  )

/** Reads `object` or `flat:1024`. */
function readPayloadPart(part: string): PayloadOptions | undefined {
  const [name, size, ...rest] = part.split(':')
  const shape = shapeNames.find((known) => known === name)
  if (shape === undefined || rest.length > 0) return undefined
  if (size === undefined) return readPayload(shape, undefined)
  const bytes = payloadFlags.payload.read(size)
  return bytes === undefined || shapes[shape].defaultBytes === undefined
    ? undefined
    : readPayload(shape, bytes)
}

/** The shapes that a codec carries; a codec without an entry carries all. */
const CARRIES: Partial<Readonly<Record<Codec, { carries(shape: PayloadShape): boolean; instead: string }>>> =
  {
    json: { carries: (shape) => shape !== 'binary', instead: 'bytes or msgpack' },
    shapes: { carries: (shape) => shape !== 'binary', instead: 'bytes or msgpack' },
    bytes: { carries: (shape) => shape === 'binary', instead: 'json, msgpack or shapes' }
  }

/**
 * The codec of our own client.
 *
 * @throws UsageError the codec cannot carry the shape, or a codec is given for NestJS's protocol, which always uses
 * JSON
 */
export function readCodec(codec: Codec | undefined, protocol: Protocol, shape: PayloadShape): Codec {
  if (protocol === 'nest') {
    if (codec === undefined) return 'json'
    throw new UsageError(`--codec: got '${codec}' with --protocol=nest, which only has JSON`)
  }
  const chosen = codec ?? 'json'
  const rule = CARRIES[chosen]
  if (rule === undefined || rule.carries(shape)) return chosen
  throw new UsageError(`--codec: got '${chosen}' with --shape=${shape}, expected ${rule.instead}`)
}
