/** The page's text on an order. No browser in here: tests call it, too. */
import { isError } from '@elysia-microservices/transport'
import type { treaty } from '@elysiajs/eden'
import type { App } from '../services/gateway.ts'
import type { Order } from '../services/orders.ts'

/** Places an order and follows it: a line for each step, and why it has failed. */
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
