/** 64-bit integers: the forms that are accepted, and the form that a shape asks for. */
import { ScalarType } from '@bufbuild/protobuf'
import type { Shapes } from '../options/shapes.ts'
import { Misfit, misfit } from './misfit.ts'

const INTEGER = /^-?\d{1,20}$/
const MAX_SIGNED = 2n ** 63n - 1n
const MAX_UNSIGNED = 2n ** 64n - 1n

/** Scalar types of 64 bits; the value says whether the type has no sign. */
export const LONG: ReadonlyMap<ScalarType, boolean> = new Map([
  [ScalarType.INT64, false],
  [ScalarType.SINT64, false],
  [ScalarType.SFIXED64, false],
  [ScalarType.UINT64, true],
  [ScalarType.FIXED64, true]
])

/** An integer as the package `long` has it, which Nest's users know. */
interface LongLike {
  readonly low: number
  readonly high: number
}

/** Reads a 64-bit integer in any of its forms. @throws {Misfit} it is none, or has too many bits */
export function bigintOf(value: unknown, isUnsigned: boolean): bigint {
  const read = readBigint(value)
  if (read === undefined)
    throw misfit(`a whole number of 64 bits (a bigint, a text, or a number up to 2^53)`, value)
  const [least, most] = isUnsigned ? [0n, MAX_UNSIGNED] : [-MAX_SIGNED - 1n, MAX_SIGNED]
  if (read < least || read > most)
    throw new Misfit(`must be a whole number from ${least} to ${most}, but is ${read}`)
  return read
}

function readBigint(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (typeof value === 'string') return INTEGER.test(value) ? BigInt(value) : undefined
  if (!isLong(value)) return undefined
  const isUnsigned = (value as { unsigned?: unknown }).unsigned === true
  const high = isUnsigned ? BigInt(value.high >>> 0) : BigInt(value.high | 0)
  return (high << 32n) | BigInt(value.low >>> 0)
}

function isLong(value: unknown): value is LongLike {
  const { low, high } = Object(value) as Partial<LongLike>
  return Number.isInteger(low) && Number.isInteger(high)
}

/** Turns a 64-bit integer of protobuf-es into the shape of its field. */
export type FromLong = (value: bigint | string) => unknown

/** @param int64 the shape, or what the field's option `jstype` says */
export function fromLong(int64: Shapes['int64'], isUnsigned: boolean): FromLong {
  if (typeof int64 === 'function') return (value) => int64(BigInt(value), isUnsigned)
  if (int64 === 'string') return String
  if (int64 === 'bigint') return BigInt
  return (value) => {
    const number = Number(value)
    if (Number.isSafeInteger(number)) return number
    throw new Misfit(`is ${value}, which no number of JavaScript holds exactly; read it with int64: 'bigint'`)
  }
}
