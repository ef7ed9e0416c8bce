/** Callers that make one request after the other for as long as a plan runs. */

import { pause } from '@elysia-microservices/test-support'
import type { CallOptions, ClientTransport } from '@elysia-microservices/transport'
import type { Ledger } from '../support/ledger.ts'

/**
 * Runs a plan while callers call, each with one request in flight at a time and a millisecond between two requests.
 * However the plan ends, the callers stop then; requests in flight end later.
 * @param count the callers of each client
 */
export async function amidCalls<Result>(
  ledger: Ledger,
  clients: readonly ClientTransport[],
  count: number,
  plan: () => Promise<Result>,
  options: CallOptions = {}
): Promise<Result> {
  let running = true
  const call = async (client: ClientTransport, caller: number) => {
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
  for (const client of clients) for (let caller = 0; caller < count; caller++) void call(client, caller)
  try {
    return await plan()
  } finally {
    running = false
  }
}
