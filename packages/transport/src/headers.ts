/** Text that is sent with the data: trace context, tenant, credentials. */
export type Headers = Readonly<Record<string, string>>

/** The prefix of headers that this library sets. Callers cannot set such headers, and handlers do not see them. */
export const RESERVED_PREFIX = 'elysia-'
