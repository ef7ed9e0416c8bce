/** The callers of a service: our client, or an HTTP client whose requests become calls of a gateway. */
import { Elysia } from 'elysia'
import type { UntypedClient } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import type { World } from './build.ts'
import type { Input } from './tree.ts'

/** @returns what the caller has got: the value, or code, message and details of the error */
export type Call = (pattern: string, input: Input) => Promise<unknown>

export const byClient =
  (client: UntypedClient): Call =>
  (pattern, { data, headers }) =>
    client.request(pattern, data, { headers: headers as Record<string, string> }).then(
      (value) => ({ value }),
      ({ code, message, details }) => ({ code, message, details })
    )

/** Reads the answer as a stream. */
export const byStream =
  (client: UntypedClient): Call =>
  async (pattern, { data, headers }) => {
    const values: unknown[] = []
    try {
      for await (const value of client.stream(pattern, data, { headers: headers as Record<string, string> }))
        values.push(value)
      return { values }
    } catch (error) {
      const { code, message, details } = error as Record<string, unknown>
      return { values, code, message, details }
    }
  }

/** @param aot Elysia's mode */
export function byGateway(client: UntypedClient, { handlers }: World, aot: boolean): Call {
  const routes: Record<`POST /${string}`, string> = Object.fromEntries(
    handlers.map(({ pattern }) => [`POST /${pattern}`, pattern])
  )
  const app = new Elysia({ aot }).use(
    gateway(client, routes, { headers: ['a', 'b', 'c'], logger: { error() {}, warn() {} } })
  )
  return async (pattern, { data, headers }) => {
    const request = new Request(`http://localhost/${pattern}`, {
      method: 'POST',
      body: JSON.stringify(data),
      headers: { ...headers, 'content-type': 'application/json' }
    })
    const response = await app.handle(request)
    const value: unknown = await response.json()
    if (response.ok) return { value }
    const { code, message, details } = value as Record<string, unknown>
    return { code, message, details }
  }
}
