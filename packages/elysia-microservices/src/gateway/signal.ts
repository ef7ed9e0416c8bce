/** How a call depends on the HTTP response for which it is made. */

/** The response of `node:http`, as far as it is used here. */
interface NodeResponse {
  readonly destroyed: boolean
  /** `null` while the responses of earlier requests of the same connection have to be sent first. */
  readonly socket: object | null
  once(event: 'socket' | 'close', listener: () => void): void
}

/** A request as Elysia's adapter for Node makes it. */
interface NodeRequest extends Request {
  readonly runtime?: { readonly node?: { readonly res?: NodeResponse } }
}

function responseOf(request: Request): NodeResponse | undefined {
  return (request as NodeRequest).runtime?.node?.res
}

/**
 * The signal that aborts when the HTTP client has left. On Node the adapter makes it when it is first asked for, and
 * then does not notice that the client has left before, for example while a hook of the app has waited.
 */
export function signalOf(request: Request): AbortSignal {
  const { signal } = request
  return responseOf(request)?.destroyed === true && !signal.aborted ? AbortSignal.abort() : signal
}

/**
 * Resolves when the response of a request can be sent, or never will be; `undefined` if it can be sent now. On Node
 * pipelined requests run beside one another, so one connection could keep any number of streams that nobody reads.
 */
export function turnOf(request: Request): Promise<void> | undefined {
  const response = responseOf(request)
  if (response === undefined || response.socket !== null || response.destroyed) return undefined
  return new Promise((resolve) => {
    response.once('socket', resolve)
    response.once('close', resolve)
  })
}
