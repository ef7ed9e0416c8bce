/** The data that travel: the services check them, the gateway shows them. */
import { t } from 'elysia'

/** An order of a customer. */
export const NewOrder = t.Object({
  item: t.String({ minLength: 1 }),
  quantity: t.Integer({ minimum: 1 })
})

/** An order that is placed. */
export const Order = t.Object({
  id: t.Integer(),
  item: t.String(),
  quantity: t.Integer(),
  paid: t.Boolean()
})
export type Order = typeof Order.static

/** How many of an item there are. */
export const Left = t.Object({ left: t.Integer() })

/** Which order is meant. */
export const OrderId = t.Object({ id: t.Integer() })
