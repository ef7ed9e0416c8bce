/** Nest's client, and our clients on Nest's wire: inside Nest, and without it. */
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import type { Transport as TransportValue } from '@elysia-microservices/transport'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { connect, RpcError } from 'elysia-microservices/client'
import type { Observable } from 'rxjs'

export interface Caller {
  /** The values, the error and the completion of one call, as text. */
  call(pattern: string, data: unknown): Promise<string>
  close(): unknown
}

interface Client {
  send(pattern: string, data: unknown): Observable<unknown>
  close(): unknown
}

const place = (port: number) => ({ host: '127.0.0.1', port })

const caller = (client: Client): Caller => ({
  call: (pattern, data) => settled(client.send(pattern, data)),
  close: () => client.close()
})

/** The first one is the peer. */
export const TCP_CLIENTS: Readonly<Record<string, (port: number) => Caller>> = {
  "Nest's client": (port) =>
    caller(ClientProxyFactory.create({ transport: Transport.TCP, options: place(port) })),
  'our client in Nest': (port) =>
    caller(
      ClientProxyFactory.create({
        customClass: MicroserviceClient,
        options: { ...place(port), protocol: 'nest' }
      })
    ),
  'our client': (port) => caller(connect({ ...place(port), protocol: 'nest' }) as unknown as Client)
}

export const overTransport = (transport: TransportValue): Caller =>
  caller(ClientProxyFactory.create({ customClass: MicroserviceClient, options: { transport } }))

function settled(values: Observable<unknown>): Promise<string> {
  const got: unknown[] = []
  return new Promise((resolve) =>
    values.subscribe({
      next: (value) => void got.push(value),
      error: (error: unknown) =>
        resolve(textOf(got, { error: error instanceof RpcError ? error.received : error })),
      complete: () => resolve(textOf(got, 'complete'))
    })
  )
}

function textOf(values: readonly unknown[], end: unknown): string {
  const text = JSON.stringify([values, end], (_, value: unknown) => value ?? null)
  return text.length > 400 ? `${text.slice(0, 200)} … ${text.length}` : text
}
