/** The field `grpc-timeout`: the time that a caller gives, as a number of at most eight digits and a unit. */

const FIELD = /^(\d{1,8})([HMSmun])$/
/** Milliseconds of each unit. */
const UNITS: Readonly<Record<string, number>> = {
  n: 1e-6,
  u: 1e-3,
  m: 1,
  S: 1_000,
  M: 60_000,
  H: 3_600_000
}
const MOST = 99_999_999
/** The units in which a time is written. Nanoseconds are finer than our clocks. */
const WRITTEN = ['u', 'm', 'S', 'M', 'H'] as const

/** Writes a time in the finest unit that has room for it; part of a unit becomes a whole one. @param milliseconds above 0 */
export function writeTimeout(milliseconds: number): string {
  for (const unit of WRITTEN) {
    const count = Math.ceil(milliseconds / (UNITS[unit] as number))
    // Milliseconds are usual, and shorter.
    if (unit === 'u' && Number.isInteger(milliseconds)) continue
    if (count <= MOST) return `${count}${unit}`
  }
  return `${MOST}H`
}

/** Reads a time, in milliseconds. Returns `undefined` if the field is wrong. */
export function readTimeout(value: string): number | undefined {
  const [, digits, unit] = FIELD.exec(value) ?? []
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit as string] as number)
}
