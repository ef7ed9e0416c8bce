/** The signal by which a call ends with its HTTP request. */

/** A request as Elysia's adapter for Node makes it. */
interface NodeRequest extends Request {
  readonly runtime?: { readonly node?: { readonly res?: { readonly destroyed?: boolean } } }
}

/**
 * The signal that aborts when the HTTP client has left. On Node the adapter makes it when it is first asked for, and
 * then does not notice that the client has left before, for example while a hook of the app has waited.
 */
export function signalOf(request: Request): AbortSignal {
  const { signal } = request
  const response = (request as NodeRequest).runtime?.node?.res
  return response?.destroyed === true && !signal.aborted ? AbortSignal.abort() : signal
}
