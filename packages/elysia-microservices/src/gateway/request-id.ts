/** The id of a request, which is in the log lines of all processes that work on the request. */
const HEADER = 'x-request-id'

/** The ids that are safe in logs and headers. Any other id is replaced by a new one. */
const VALID = /^[\w.:/+=-]{1,128}$/

/** The fields of an Elysia handler's context that are needed for the id of its request. */
export interface Identifiable {
  readonly request: Request
  readonly set?: { readonly headers: Record<string, string | number | undefined> } | undefined
}

/** The ids of requests whose context has no response headers. */
const made = new WeakMap<Request, string>()

/**
 * Returns the id that the app has set in the response, or the id that the caller has sent, or a new one. The id is
 * then stored in the response headers.
 */
export function requestIdOf({ request, set }: Identifiable): string {
  const known = made.get(request)
  if (known !== undefined) return known
  const given = set?.headers[HEADER] ?? request.headers.get(HEADER)
  const id = typeof given === 'string' && VALID.test(given) ? given : crypto.randomUUID()
  made.set(request, id)
  if (set !== undefined) set.headers[HEADER] = id
  return id
}

/** Whether a request header is the one with the request's id. */
export function isRequestId(name: string): boolean {
  return name.toLowerCase() === HEADER
}
