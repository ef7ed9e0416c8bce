/** A service that these tests add to Elysia apps. */
import { type Logger, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

/** The members of a service that tests use. */
export interface Held {
  readonly address: { readonly port: number } | undefined
  listen(): Promise<unknown>
  stop(): Promise<void>
}

/** A service on a free port that answers with the data of the request. */
export function newService(logger?: Logger) {
  return microservice({ name: 'held', transport: 'tcp', host: '127.0.0.1', port: 0, logger }).message(
    'echo',
    ({ data }: { data: unknown }) => data
  )
}

/** Sends a request to the service over its own port. */
export async function ask(service: Held, data: unknown): Promise<unknown> {
  const client = connect({ host: '127.0.0.1', port: (service.address as { port: number }).port })
  try {
    return await client.request('echo', data)
  } finally {
    await client.close()
  }
}
