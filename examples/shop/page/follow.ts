/** The text that the page shows about an order. This file uses nothing of a browser, so tests can call it. */
import type { treaty } from '@elysiajs/eden'
import { isError } from 'elysia-microservices/errors'
import type { App } from '../services/gateway.ts'
import type { Order } from '../services/orders.ts'

/** Places an order and follows its progress. Yields a line for each step, or the reason of a failure. */
export async function* follow(api: ReturnType<typeof treaty<App>>, order: Order): AsyncGenerator<string> {
  const placed = await api.orders.post(order)
  if (placed.error) {
    yield placed.error.value.message
    return
  }
  const { data, error } = await api.orders({ id: order.id }).progress.get()
  if (error) {
    yield error.value.message
    return
  }
  for await (const event of data) {
    if (event.event === undefined) yield event.data.step
    else if (event.event === 'error')
      yield isError(event.data, 'OUT_OF_STOCK')
        ? `Sorry: ${event.data.details.left} left`
        : `Sorry: ${event.data.message}`
  }
}
