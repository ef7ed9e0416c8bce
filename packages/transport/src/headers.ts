/** Text that travels beside the data: trace context, tenant, credentials. */
export type Headers = Readonly<Record<string, string>>

/** How the names of headers begin that this library writes itself. Callers cannot set them, handlers do not see them. */
export const RESERVED_PREFIX = 'elysia-'
