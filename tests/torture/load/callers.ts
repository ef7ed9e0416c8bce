/** Callers that go on, one request after the other, until they are told to stop. */
import type { CallOptions, ClientTransport } from '@elysia-microservices/transport'
import { pause } from '../../support/within.ts'
import type { Ledger } from '../support/ledger.ts'

/**
 * Starts callers, each with a request in flight at a time and a millisecond between two of them.
 * @returns stops them; requests in flight end
 */
export function startCallers(
  ledger: Ledger,
  client: ClientTransport,
  count: number,
  options: CallOptions = {}
): () => void {
  let running = true
  const call = async (caller: number) => {
    // Half of the handlers answer at once, half take a moment; half of the calls are promises, half streams.
    const pattern = caller % 4 < 2 ? 'echo' : 'work'
    while (running) {
      if (caller % 2 === 0) await ledger.request(client, pattern, options)
      else await ledger.stream(client, pattern, options)
      // Leaves the processors to the servers that start.
      await pause(1)
    }
  }
  for (let caller = 0; caller < count; caller++) void call(caller)
  return () => {
    running = false
  }
}
