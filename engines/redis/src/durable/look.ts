/** Asks Redis about a stream and a group in it. */
import type { Redis } from 'ioredis'

/** The position of a group in a stream. */
export interface Standing {
  /** The last position of the stream. */
  readonly last: string
  /** `undefined`: the stream has no such group. */
  readonly group: Told | undefined
}

/** The fields that are used, of a group, a process of a group, or a stream. */
export interface Told {
  readonly name?: unknown
  /** Events that were not delivered yet, and that were delivered and are not acknowledged. */
  readonly lag?: unknown
  readonly pending?: unknown
  /** Milliseconds since a process has asked for events. */
  readonly idle?: unknown
  readonly 'last-generated-id'?: unknown
}

/** @throws the server's error, also if there is no such stream */
export async function standingOf(commands: Redis, stream: string, group: string): Promise<Standing> {
  const [groups, about] = await Promise.all([
    commands.call('XINFO', 'GROUPS', stream) as Promise<unknown[][]>,
    commands.call('XINFO', 'STREAM', stream) as Promise<unknown[]>
  ])
  return {
    last: String(fieldsIn(about)['last-generated-id']),
    group: groups.map(fieldsIn).find(({ name }) => name === group)
  }
}

/** Reads an answer of Redis that lists names and values alternately. */
export function fieldsIn(list: readonly unknown[]): Told {
  return Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[String(name), list[at + 1]]] : [])))
}
