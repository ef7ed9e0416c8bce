/** Calls that continue while something happens to their servers. */
import type { UntypedClient } from 'elysia-microservices/client'

/**
 * Makes calls on each client, one after the other, until it is stopped; then returns the errors.
 * @param clients one client for each caller; several callers may share a client
 */
export function load(clients: Iterable<UntypedClient>, options: object = {}) {
  let running = true
  let answered = 0
  const failures: unknown[] = []
  const callers = [...clients].map(async (client, caller) => {
    for (let n = 0; running; n++) {
      const data = `${caller}-${n}`
      await client.request('echo', data, options).then(
        (value) => (value === data ? answered++ : failures.push(value)),
        (error: unknown) => failures.push(error)
      )
      // Leaves processor time for servers that are starting.
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })
  return async () => {
    running = false
    await Promise.all(callers)
    return { answered, failures }
  }
}
