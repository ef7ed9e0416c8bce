/** Text that travels beside the data: trace context, tenant, credentials. */
export type Headers = Readonly<Record<string, string>>

/** The prefix of headers that this library writes itself. Callers cannot set them, handlers do not see them. */
export const RESERVED_PREFIX = 'elysia-'
