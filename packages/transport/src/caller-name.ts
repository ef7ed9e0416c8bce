/**
 * The name that a caller gives itself, so that a service can tell who calls what. A caller sends its name once for each
 * connection. Nobody checks the name: show it, but never use it to decide what a caller may do.
 */

/** Longest name, in characters, that is sent or read. */
const MAX_NAME = 100
/**
 * The symbol under which the name of this process is stored, the same for all copies of this module. The first service
 * with a name sets it.
 */
const NAME: unique symbol = Symbol.for('elysia-microservices.name')
/**
 * The symbol of the name that is used if no service of the process has a name. The development command sets that name.
 */
const FALLBACK: unique symbol = Symbol.for('elysia-microservices.fallback-name')

/** The symbol of the names of this process's clients. */
const CLIENTS: unique symbol = Symbol.for('elysia-microservices.client-names')
/** Most names of clients that are remembered. */
const MAX_CLIENTS = 100

type Named = { [NAME]?: string; readonly [FALLBACK]?: string; [CLIENTS]?: Set<string> }

/** The caller of a message, as far as the caller has named itself. All messages of a connection share one object. */
export interface Source {
  /**
   * The name that the caller gives itself: untrusted text of at most 100 characters. `undefined`: the caller has no
   * name, or has not sent it yet.
   */
  readonly name?: string | undefined
}

/** Gives this process a name, unless the process has a name already. */
export function nameProcess(name: string | undefined): void {
  const named = globalThis as Named
  if (name !== undefined) named[NAME] ??= name
}

/** Remembers the name of a client of this process, so that it is known whose calls have this name. */
export function nameClient(name: string): void {
  const named = globalThis as Named
  named[CLIENTS] ??= new Set()
  if (named[CLIENTS].size < MAX_CLIENTS) named[CLIENTS].add(name)
}

/** The names under which the calls and spans of this process are known. */
export function processNames(): { readonly name?: string; readonly clients: readonly string[] } {
  const name = callerName(undefined)
  return { ...(name !== undefined && { name }), clients: [...((globalThis as Named)[CLIENTS] ?? [])] }
}

/**
 * The name that this process sends on a new connection.
 * @param own the name of the client, if the user has given it a name
 */
export function callerName(own: string | undefined): string | undefined {
  const named = globalThis as Named
  return readCallerName(own ?? named[NAME] ?? named[FALLBACK])
}

/** Reads a name that a peer has sent: cuts it and removes control characters. `undefined` if there is no name. */
export function readCallerName(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
  const plain = name.slice(0, MAX_NAME).replace(/[\u0000-\u001f\u007f-\u009f]/g, '')
  return plain === '' ? undefined : plain
}
