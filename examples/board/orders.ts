/** The service of a kitchen: orders are placed, cooked and served, and every page that watches is told. */

import { websocket } from '@elysia-microservices/websocket'
import { t } from 'elysia'
import { type Message, memory, microservice, RpcError } from 'elysia-microservices'

export const STATES = ['placed', 'cooking', 'served'] as const

export interface Order {
  readonly id: number
  readonly dish: string
  readonly state: (typeof STATES)[number]
}

const all = new Map<number, Order>()
const watchers = new Set<() => void>()

function change(order: Order): Order {
  all.set(order.id, order)
  for (const wake of watchers) wake()
  return order
}

/** Sends all orders, then each order when it changes; a slow reader gets only the newest state of an order. */
async function* watch({ signal }: Message<undefined>): AsyncGenerator<Order> {
  const seen = new Map<number, Order>()
  while (!signal.aborted) {
    const changed = [...all.values()].filter((order) => seen.get(order.id) !== order)
    for (const order of changed) {
      seen.set(order.id, order)
      yield order
    }
    if (changed.length === 0) await next(signal)
  }
}

/** Resolves when an order has changed, or when the reader has left. */
async function next(signal: AbortSignal): Promise<void> {
  let wake = () => {}
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  watchers.add(wake)
  signal.addEventListener('abort', wake)
  await woken
  watchers.delete(wake)
  signal.removeEventListener('abort', wake)
}

export const orders = microservice({ name: 'orders', transport: memory() })
  .message('orders.place', ({ data }) => change({ id: all.size + 1, dish: data.dish, state: 'placed' }), {
    data: t.Object({ dish: t.String({ minLength: 1, maxLength: 100 }) })
  })
  .message(
    'orders.advance',
    ({ data }) => {
      const order = all.get(data.id)
      if (order === undefined)
        throw new RpcError({ code: 'ORDER_NOT_FOUND', message: `There is no order ${data.id}` })
      return change({ ...order, state: STATES[STATES.indexOf(order.state) + 1] ?? 'served' })
    },
    { data: t.Object({ id: t.Integer() }) }
  )
  .message('orders.watch', watch)
  .message('kitchen.close', () => 'not for guests')

/** The patterns that pages may call. */
export const door = websocket({ expose: ['orders.*'] })
