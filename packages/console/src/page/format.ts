/** Numbers as they are shown. */

/** A number of things, or of things a second. */
export function count(value: number): string {
  if (value === 0) return '0'
  if (value < 10) return value.toFixed(1)
  return Math.round(value).toLocaleString('en')
}

/** Milliseconds; a dash if there are none. */
export function ms(value: number | undefined): string {
  if (value === undefined) return '–'
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)))
}

/** A whole number, such as of bytes or messages. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** The time of a day, always as wide: `22:02:14`. @param at milliseconds since 1970 */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en', { hourCycle: 'h23' })
}

/** `inFlight` as words. */
export function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
