/** Callers that make one request after the other until they are stopped. */
import type { CallOptions, ClientTransport } from '@elysia-microservices/transport'
import { pause } from '../../support/within.ts'
import type { Ledger } from '../support/ledger.ts'

/**
 * Starts callers, each with one request in flight at a time and a millisecond between two requests.
 * @returns a function that stops the callers; requests in flight end
 */
export function startCallers(
  ledger: Ledger,
  client: ClientTransport,
  count: number,
  options: CallOptions = {}
): () => void {
  let running = true
  const call = async (caller: number) => {
    // Half of the requests are answered at once, half after a moment; half of the calls are made by `request`, half
    // by `stream`.
    const pattern = caller % 4 < 2 ? 'echo' : 'work'
    while (running) {
      if (caller % 2 === 0) await ledger.request(client, pattern, options)
      else await ledger.stream(client, pattern, options)
      // Leaves processor time for servers that are starting.
      await pause(1)
    }
  }
  for (let caller = 0; caller < count; caller++) void call(caller)
  return () => {
    running = false
  }
}
