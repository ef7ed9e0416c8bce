/**
 * The name that a caller gives itself, so that a service can tell who calls what. It is sent once for each connection
 * and nobody checks it: a name to be shown, never one to decide by.
 */

/** Characters of a name that are sent, and read. */
const MAX_NAME = 100
/** The name of this process, under a symbol that all copies of this module share: the first service's that has one. */
const NAME: unique symbol = Symbol.for('elysia-microservices.name')
/** The name of a process that has no service with a name. The development command sets it. */
const FALLBACK: unique symbol = Symbol.for('elysia-microservices.fallback-name')

type Named = { [NAME]?: string; readonly [FALLBACK]?: string }

/** The other end of a message, as far as it says who it is. One object for all messages of a connection. */
export interface Source {
  /** The name that it gives itself; `undefined`: none, or not heard yet. Text of a stranger, 100 characters at most. */
  readonly name?: string | undefined
}

/** Gives this process a name, unless it has one. */
export function nameProcess(name: string | undefined): void {
  const named = globalThis as Named
  if (name !== undefined) named[NAME] ??= name
}

/** The name under which this process makes a connection. @param own what the client is called, if it is */
export function callerName(own: string | undefined): string | undefined {
  const named = globalThis as Named
  return readCallerName(own ?? named[NAME] ?? named[FALLBACK])
}

/** A name as it came, if it is one: cut, and without control characters. */
export function readCallerName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out
  const plain = name.slice(0, MAX_NAME).replace(/[\u0000-\u001f\u007f-\u009f]/g, '')
  return plain === '' ? undefined : plain
}
