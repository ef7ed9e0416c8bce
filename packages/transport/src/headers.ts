import { OptionError } from './errors/index.ts'

/** Text that is sent with the data: trace context, tenant, credentials. */
export type MessageHeaders = Readonly<Record<string, string>>

/** Headers of a call: texts, and bytes under names that end in `-bin`, which travel in Base64. */
export type CallHeaders = Readonly<Record<string, string | Uint8Array>>

export const ENDS_BINARY = '-bin'

/** The prefix of headers that this library sets. Callers cannot set such headers, and handlers do not see them. */
export const RESERVED_PREFIX = 'elysia-'

/** @throws {OptionError} the header at this path of the options has a name that this library keeps for itself */
export function refuseReserved(name: string, path: string): void {
  if (name.startsWith(RESERVED_PREFIX))
    throw new OptionError(
      path,
      `${path} is a reserved name: ${RESERVED_PREFIX}* are this library's own headers`
    )
}

/** The headers of a call as texts: the same object if it has nothing else. */
export function textHeaders<Given extends CallHeaders | undefined>(
  headers: Given
): MessageHeaders | Extract<Given, undefined> {
  for (const name in headers)
    if (typeof headers[name] !== 'string')
      return Object.fromEntries(
        Object.entries(headers as CallHeaders).map(([one, value]) => [
          one,
          typeof value === 'string' ? value : toBase64(value)
        ])
      )
  return headers as MessageHeaders | Extract<Given, undefined>
}

/**
 * A received header as text: bytes under a name that ends in `-bin` in Base64, several joined with commas; `undefined`: it
 * is neither.
 */
export function headerText(name: string, value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!name.endsWith(ENDS_BINARY)) return undefined
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  const areBytes = all.length > 0 && all.every((one) => one instanceof Uint8Array)
  return areBytes ? all.map(toBase64).join(',') : undefined
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
