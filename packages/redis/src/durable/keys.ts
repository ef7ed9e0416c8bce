/**
 * The names of keys in Redis. All keys have one hash tag, so that a script may use any of them together; a group has no
 * blanks, so that what stands behind one may have.
 */

/** The prefix of every key of the store; rights are given by it. */
export const STORE = '_elysia:{events}:'
/** A hash: the patterns that have a stream, each with a text that names this very stream. Also the channel of changes. */
export const STREAMS = `${STORE}streams`
/** A hash: `<group> <pattern>` of every durable handler, with what is known of it. Also the channel of changes. */
export const GROUPS = `${STORE}groups`

/** The events of a pattern. */
export function streamOf(pattern: string): string {
  return `${STORE}s:${pattern}`
}

/** The redriven events of one handler of a group. */
export function againOf(group: string, pattern: string): string {
  return `${STORE}a:${group} ${pattern}`
}

/** The dead letters of a group. */
export function deadOf(group: string): string {
  return `${STORE}d:${group}`
}

/** A sorted set: events of a stream that a group gets again, by when. */
export function laterOf(group: string, stream: string): string {
  return `${STORE}l:${group} ${stream.slice(STORE.length)}`
}

/** There while a process waits for more of a stream; also the channel that wakes it. */
export function wakeOf(stream: string): string {
  return `${STORE}w:${stream.slice(STORE.length)}`
}

/** There while a group is paused. */
export function pausedOf(group: string): string {
  return `${STORE}p:${group}`
}

/** Holds the process that takes the events of an ordered handler. */
export function turnOf(group: string, pattern: string): string {
  return `${STORE}t:${group} ${pattern}`
}

/** There while an id is known. Ids have no line ends. */
export function idOf(pattern: string, id: string): string {
  return `${STORE}i:${pattern}\n${id}`
}

/** The field of a durable handler in `GROUPS`. */
export function handlerOf(group: string, pattern: string): string {
  return `${group} ${pattern}`
}

/** Reads such a field. */
export function readHandler(field: string): { readonly group: string; readonly pattern: string } {
  const blank = field.indexOf(' ')
  return { group: field.slice(0, blank), pattern: field.slice(blank + 1) }
}

/** The milliseconds since 1970 in a position `<milliseconds>-<number>`; `NaN`: it is none. */
export function timeOf(position: string): number {
  return /^\d+-\d+$/.test(position) ? Number(position.slice(0, position.indexOf('-'))) : Number.NaN
}

/** Compares two positions: the result is below 0 if the first one comes first. */
export function comparePositions(one: string, other: string): number {
  // Digit by digit, where both have as many.
  if (one.length === other.length && one.indexOf('-') === other.indexOf('-'))
    return one < other ? -1 : one > other ? 1 : 0
  const [time, number] = partsOf(one)
  const [otherTime, otherNumber] = partsOf(other)
  return time - otherTime || (number < otherNumber ? -1 : number > otherNumber ? 1 : 0)
}

/** The position before another, where nothing needs to be. */
export function before(position: string): string {
  const [time, number] = partsOf(position)
  return number > 0n ? `${time}-${number - 1n}` : time > 0 ? `${time - 1}-${LAST}` : '0-0'
}

/** The highest number of one millisecond. */
const LAST = 2n ** 64n - 1n

function partsOf(position: string): [time: number, number: bigint] {
  const dash = position.indexOf('-')
  return [Number(position.slice(0, dash)), BigInt(position.slice(dash + 1))]
}
