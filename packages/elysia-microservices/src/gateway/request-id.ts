/** The id of a request, by which the logs of all processes that work for it can be found. */
const HEADER = 'x-request-id'

/** Ids that may stand in logs and headers; others are replaced. */
const VALID = /^[\w.:/+=-]{1,128}$/

/** The fields of a context that the id of its request needs; that of an Elysia handler has them. */
export interface Identifiable {
  readonly request: Request
  readonly set?: { readonly headers: Record<string, string | number | undefined> } | undefined
}

/** Ids of requests whose context has no headers of the response. */
const made = new WeakMap<Request, string>()

/** The id that the app has given the response, or that the caller sent, or a new one. The response has it from now on. */
export function requestIdOf({ request, set }: Identifiable): string {
  const known = made.get(request)
  if (known !== undefined) return known
  const given = set?.headers[HEADER] ?? request.headers.get(HEADER)
  const id = typeof given === 'string' && VALID.test(given) ? given : crypto.randomUUID()
  made.set(request, id)
  if (set !== undefined) set.headers[HEADER] = id
  return id
}

/** Whether a header of the request is the one with its id. */
export function isRequestId(name: string): boolean {
  return name.toLowerCase() === HEADER
}
