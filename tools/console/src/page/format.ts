/** Formats numbers and times. */

/** A number of things, or of things a second. */
export function count(value: number): string {
  if (value === 0) return '0'
  if (value < 10) return value.toFixed(1)
  return Math.round(value).toLocaleString('en')
}

/** Milliseconds; a dash if the value is missing. */
export function ms(value: number | undefined): string {
  if (value === undefined) return '–'
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)))
}

/** A whole number, such as of bytes or messages. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** A time of day with a fixed width: `22:02:14`. @param at milliseconds since 1970 */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en', { hourCycle: 'h23' })
}

/** A name such as `inFlight` as words. */
export function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** A duration, from milliseconds to days. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  if (seconds < 1) return `${Math.round(milliseconds)} ms`
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Number((seconds / 3_600).toPrecision(2))} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** How long ago a time was. @param at milliseconds since 1970 */
export function ago(at: number): string {
  return `${duration(Math.max(1_000, Math.floor((Date.now() - at) / 1_000) * 1_000))} ago`
}

/** A share in percent. */
export function share(value: number): string {
  return `${Number((value * 100).toPrecision(2))} %`
}

/** A number on an axis, with three digits. */
export function axisText(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 })
}
