import { OptionError } from './errors/index.ts'

/** Text that is sent with the data: trace context, tenant, credentials. */
export type MessageHeaders = Readonly<Record<string, string>>

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
