/** `google.protobuf.Timestamp` and `Duration`: seconds and nanoseconds. */

import { bigintOf } from './integers.ts'
import { Misfit, misfit } from './misfit.ts'

/** Seconds and nanoseconds, as protobuf-es has them. */
export interface Seconds {
  readonly seconds: bigint
  readonly nanos: number
}

const NANOS = 1_000_000_000
const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i
const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/
/** 0001-01-01 to the end of 9999: the times that protobuf allows, and that have a text of RFC 3339. */
const FIRST = -62_135_596_800n
const LAST = 253_402_300_799n
/** Some 10,000 years. */
const LONGEST = 315_576_000_000n

/** A point in time in any of its forms: a Date, a text, or seconds and nanoseconds. */
export function timestampOf(value: unknown): Seconds {
  const read =
    value instanceof Date
      ? fromMs(value.getTime(), 0)
      : typeof value === 'string'
        ? ofText(value)
        : partsOf(value)
  if (read === undefined)
    throw misfit(
      "a Date, or a text such as '2026-01-31T12:00:00Z'",
      value instanceof Date ? 'an invalid Date' : value
    )
  const wrong = wrongTimestamp(read)
  if (wrong !== undefined) throw new Misfit(wrong)
  return read
}

function ofText(text: string): Seconds | undefined {
  const [, point = '', fraction = '', zone = ''] = RFC_3339.exec(text) ?? []
  return fromMs(Date.parse(`${point}${zone}`), Number(fraction.padEnd(9, '0')))
}

function fromMs(ms: number, nanos: number): Seconds | undefined {
  if (Number.isNaN(ms)) return undefined
  const seconds = Math.floor(ms / 1000)
  return { seconds: BigInt(seconds), nanos: nanos + (ms - seconds * 1000) * 1_000_000 }
}

function partsOf(value: unknown): Seconds | undefined {
  if (typeof value !== 'object' || value === null || !('seconds' in value || 'nanos' in value))
    return undefined
  const { seconds = 0, nanos = 0 } = value as { readonly seconds?: unknown; readonly nanos?: unknown }
  if (typeof nanos !== 'number' || !Number.isInteger(nanos)) return undefined
  return { seconds: bigintOf(seconds, false), nanos }
}

function wrongTimestamp({ seconds, nanos }: Seconds): string | undefined {
  if (seconds < FIRST || seconds > LAST)
    return `must be between the years 1 and 9999, but is ${seconds} s after 1970`
  return nanos < 0 || nanos >= NANOS ? `must have nanos from 0 to 999999999, but has ${nanos}` : undefined
}

/** @throws {Misfit} the time is outside of the years 1 to 9999 */
export function dateOf(time: Seconds): Date {
  const wrong = wrongTimestamp(time)
  if (wrong !== undefined) throw new Misfit(wrong)
  return new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1_000_000))
}

/** A time as text, with 3, 6 or 9 digits behind the point: with 3 it is the text of a Date. */
export function timeText(time: Seconds): string {
  return `${dateOf(time).toISOString().slice(0, 19)}${fractionText(time.nanos) || '.000'}Z`
}

/** A span of time in any of its forms: a text, or seconds and nanoseconds. */
export function durationOf(value: unknown): Seconds {
  const read = typeof value === 'string' ? ofDuration(value) : partsOf(value)
  if (read === undefined) throw misfit("a text such as '1.5s'", value)
  const wrong = wrongDuration(read)
  if (wrong !== undefined) throw new Misfit(wrong)
  return read
}

function ofDuration(text: string): Seconds | undefined {
  const match = DURATION.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  const nanos = Number(fraction.padEnd(9, '0'))
  return sign === '-'
    ? { seconds: -BigInt(whole), nanos: nanos === 0 ? 0 : -nanos }
    : { seconds: BigInt(whole), nanos }
}

function wrongDuration({ seconds, nanos }: Seconds): string | undefined {
  if (seconds > LONGEST || seconds < -LONGEST) return `must be at most ${LONGEST} s, but is ${seconds} s`
  if (Math.abs(nanos) >= NANOS) return `must have nanos below a second, but has ${nanos}`
  return (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)
    ? 'must have seconds and nanos of the same sign'
    : undefined
}

/** A span as text, such as `1.500s`. @throws {Misfit} it is none of protobuf's */
export function durationText(span: Seconds): string {
  const wrong = wrongDuration(span)
  if (wrong !== undefined) throw new Misfit(wrong)
  const { seconds, nanos } = span
  const isNegative = seconds < 0n || nanos < 0
  return `${isNegative ? '-' : ''}${isNegative ? -seconds : seconds}${fractionText(Math.abs(nanos))}s`
}

function fractionText(nanos: number): string {
  if (nanos === 0) return ''
  const digits = String(nanos).padStart(9, '0')
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`
}
