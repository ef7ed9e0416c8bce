/** Calls that go on while something happens to their servers. */
import type { UntypedClient } from 'elysia-microservices/client'

/**
 * Calls on each of some clients, one after the other, until it is told to stop; gives what went wrong.
 * @param clients one for each caller; a client may have several
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
      // Leaves the processors to the processes that start.
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })
  return async () => {
    running = false
    await Promise.all(callers)
    return { answered, failures }
  }
}
