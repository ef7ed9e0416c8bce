/** A service with a long description. */
import { telemetry } from '@elysia-microservices/telemetry'
import { t } from 'elysia'
import { memory, microservice } from 'elysia-microservices'
import { tcp } from 'elysia-microservices/tcp'

/** Patterns, hooks and schemas of every kind, over TCP and inside the process. */
export function describedShop(options: { readonly describe?: boolean } = {}) {
  const door = tcp({ host: '127.0.0.1', port: 0 })
  const authenticated = () => undefined
  const service = microservice({ name: 'shop', version: '1.2.0', transport: [door, memory()], ...options })
    .wrap(telemetry())
    .onBeforeHandle(authenticated)
    .message('orders.create', ({ data }) => ({ id: 1, ...data }), {
      data: t.Object({ items: t.Array(t.String()), note: t.Optional(t.String()) }),
      headers: t.Object({ tenant: t.String() }),
      response: t.Object({ id: t.Number() }),
      errors: {
        OUT_OF_STOCK: { details: t.Object({ left: t.Number() }), status: 409 },
        'CLOSED TODAY': {},
        'CLOSED-TODAY': {}
      }
    })
    .message('orders.*', ({ params }) => params[0])
    .message(['files.>', { cmd: 'version' }, 7], () => 1)
    .message(/^invoice-\d+$/, () => 1)
    .message('odd', ({ data }) => data, {
      data: t.Object({
        at: t.Date(),
        tree: t.Recursive((This) => t.Object({ nodes: t.Array(This) })),
        big: t.BigInt()
      })
    })
    .message('numbers', ({ data }) => data, { data: t.AsyncIterator(t.Number()) })
    .event('order.placed', () => {}, { data: t.Object({ id: t.Number() }) })
  return { door, service }
}
