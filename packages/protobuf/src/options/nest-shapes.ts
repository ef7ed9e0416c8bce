/** The shapes of Nest's gRPC, which come from the options of `@grpc/proto-loader`. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { ProtoShapes } from '../proto-shapes.ts'
import { withType } from './shape-types.ts'

/** The options `loader` of Nest's gRPC, as far as they say what a value looks like. */
export interface NestLoader {
  /** Whether fields keep their names; otherwise they are in camelCase. Default: `false`. */
  readonly keepCase?: boolean | undefined
  /** `String` or `Number` for 64-bit integers; a number may lose its last digits. Default: `{ low, high, unsigned }`. */
  readonly longs?: unknown
  /** `String` for the names of enums. Default: numbers. */
  readonly enums?: unknown
  /** `Array` or `String` (base64) for `bytes`. Default: a Buffer, or a Uint8Array where there is none. */
  readonly bytes?: unknown
  /** Whether fields that were not sent have their defaults, and `null` if they are messages. Default: `false`. */
  readonly defaults?: boolean | undefined
  /** Whether empty lists are there. Default: `false`. */
  readonly arrays?: boolean | undefined
  /** Whether empty maps are there. Default: `false`. */
  readonly objects?: boolean | undefined
  /** Whether a oneof has a property with the name of the field that is set. Default: `false`. */
  readonly oneofs?: boolean | undefined
}

/** A 64-bit integer with the members of a Long that programs use. */
class Long {
  readonly low: number
  readonly high: number
  readonly unsigned: boolean

  constructor(value: bigint, unsigned: boolean) {
    this.low = Number(BigInt.asIntN(32, value))
    this.high = Number(BigInt.asIntN(32, value >> 32n))
    this.unsigned = unsigned
  }

  toBigInt(): bigint {
    const bits = (BigInt(this.high) << 32n) | BigInt(this.low >>> 0)
    return this.unsigned ? BigInt.asUintN(64, bits) : bits
  }

  toNumber(): number {
    return Number(this.toBigInt())
  }

  toString(): string {
    return String(this.toBigInt())
  }
}

/** A number is rounded if it is beyond `Number.MAX_SAFE_INTEGER`, as in Nest. */
const NUMBER = withType('number', (value: bigint) => Number(value))
const LONG = withType(
  '{ low: number; high: number; unsigned: boolean; toString(): string; toNumber(): number }',
  (value: bigint, unsigned: boolean) => new Long(value, unsigned)
)
const ARRAY = withType('number[]', (bytes: Uint8Array) => [...bytes])
const BUFFER = withType('Uint8Array', buffer)

/**
 * The shapes that a Nest application expects: `loadProto({ files: 'shop.proto', ...nestShapes(loader) })`.
 * @param loader the option `loader` of Nest's gRPC
 * @throws {OptionError} an option is wrong
 */
export function nestShapes(loader: NestLoader = {}): ProtoShapes {
  const { keepCase, longs, enums, bytes, defaults, arrays, objects, oneofs } = loader
  for (const [name, value, choices] of [
    ['longs', longs, [String, Number]],
    ['enums', enums, [String]],
    ['bytes', bytes, [Array, String]]
  ] as const)
    if (value !== undefined && !(choices as readonly unknown[]).includes(value))
      throw OptionError.expected(`loader.${name}`, choices.map((one) => one.name).join(' or '), value)
  return {
    names: keepCase === true ? 'proto' : nestCase,
    int64: longs === String ? 'string' : longs === Number ? NUMBER : LONG,
    enums: enums === String ? 'name' : 'number',
    bytes: bytes === String ? 'base64' : bytes === Array ? ARRAY : BUFFER,
    wellKnown: 'messages',
    defaults: defaults ? 'nulls' : arrays || objects ? 'lists' : 'none',
    presence: 'sent',
    oneofs: oneofs ? 'named' : 'fields',
    strict: false
  }
}

/** camelCase as protobufjs has it: `a_1` stays, where protobuf's JSON has `a1`. */
function nestCase(name: string): string {
  return name.slice(0, 1) + name.slice(1).replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function buffer(bytes: Uint8Array): Uint8Array {
  const { Buffer } = globalThis as {
    Buffer?: { from(bytes: ArrayBufferLike, at: number, length: number): Uint8Array }
  }
  return Buffer === undefined ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
