/**
 * The names of keys in Redis. All keys have one hash tag, so that a script may use any of them together. Names of
 * groups have no blanks, so a blank separates the group from what follows, which may have blanks.
 */

/** The prefix of all keys of stored events, for which users need rights. */
export const STORE = '_elysia:{events}:'
/**
 * A hash of the patterns that have a stream, each with a text that identifies the stream. Also the channel on which
 * new patterns are announced.
 */
export const STREAMS = `${STORE}streams`
/**
 * A hash with a field `<group> <pattern>` for each durable handler, with its settings. Also the channel on which
 * changes are announced.
 */
export const GROUPS = `${STORE}groups`

/** The stream with the events of a pattern. */
export function streamOf(pattern: string): string {
  return `${STORE}s:${pattern}`
}

/** The pattern of a stream with its events. */
export function patternIn(stream: string): string {
  return stream.slice(streamOf('').length)
}

/** The stream with the redriven events of one handler of a group. */
export function againOf(group: string, pattern: string): string {
  return `${STORE}a:${group} ${pattern}`
}

/** The stream with the dead letters of a group. */
export function deadOf(group: string): string {
  return `${STORE}d:${group}`
}

/** A sorted set of the events of a stream that are delivered to a group again, by the time at which they are due. */
export function laterOf(group: string, stream: string): string {
  return `${STORE}l:${group} ${stream.slice(STORE.length)}`
}

/** A sorted set of the events of a pattern that wait for their time: their ids, by the time at which they are due. */
export function futureOf(pattern: string): string {
  return `${STORE}f:${pattern}`
}

/** A hash with the events that wait for their time, by id. */
export function awaitedOf(pattern: string): string {
  return `${STORE}e:${pattern}`
}

/** A key that exists while a process waits for more events of a stream; also the channel that wakes the process. */
export function wakeOf(stream: string): string {
  return `${STORE}w:${stream.slice(STORE.length)}`
}

/** A key that exists while a group is paused. */
export function pausedOf(group: string): string {
  return `${STORE}p:${group}`
}

/** A key with the id of the process that handles the events of an ordered handler. */
export function turnOf(group: string, pattern: string): string {
  return `${STORE}t:${group} ${pattern}`
}

/**
 * A key that exists while the id of an event is remembered, with the position of the event, or with nothing while the
 * event waits for its time. Ids have no line breaks.
 */
export function idOf(pattern: string, id: string): string {
  return `${STORE}i:${pattern}\n${id}`
}

/** The field of a durable handler in the hash `GROUPS`. */
export function handlerOf(group: string, pattern: string): string {
  return `${group} ${pattern}`
}

/** Reads a field of the hash `GROUPS`. */
export function readHandler(field: string): { readonly group: string; readonly pattern: string } {
  const blank = field.indexOf(' ')
  return { group: field.slice(0, blank), pattern: field.slice(blank + 1) }
}

/** The milliseconds since 1970 in a position `<milliseconds>-<number>`; `NaN`: the text is not a position. */
export function timeOf(position: string): number {
  return /^\d+-\d+$/.test(position) ? Number(position.slice(0, position.indexOf('-'))) : Number.NaN
}

/** Compares two positions: the result is below 0 if the first one comes first. */
export function comparePositions(one: string, other: string): number {
  // Positions of the same length compare as texts.
  if (one.length === other.length && one.indexOf('-') === other.indexOf('-'))
    return one < other ? -1 : one > other ? 1 : 0
  const [time, number] = partsOf(one)
  const [otherTime, otherNumber] = partsOf(other)
  return time - otherTime || (number < otherNumber ? -1 : number > otherNumber ? 1 : 0)
}

/** The highest position below another one. No event needs to have this position. */
export function before(position: string): string {
  const [time, number] = partsOf(position)
  return number > 0n ? `${time}-${number - 1n}` : time > 0 ? `${time - 1}-${LAST}` : '0-0'
}

/** The highest number that a position may have within one millisecond. */
const LAST = 2n ** 64n - 1n

function partsOf(position: string): [time: number, number: bigint] {
  const dash = position.indexOf('-')
  return [Number(position.slice(0, dash)), BigInt(position.slice(dash + 1))]
}
