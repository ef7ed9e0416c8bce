/** The schemas of the data. The services check data with them, and the gateway shows them in its documentation. */
import { t } from 'elysia'

/** The data of an order that a customer places. */
export const NewOrder = t.Object({
  item: t.String({ minLength: 1 }),
  quantity: t.Integer({ minimum: 1 })
})

/** An order that has been placed. */
export const Order = t.Object({
  id: t.Integer(),
  item: t.String(),
  quantity: t.Integer(),
  paid: t.Boolean()
})
export type Order = typeof Order.static

/** How many pieces of an item are left in stock. */
export const Left = t.Object({ left: t.Integer() })

/** The number of an order. */
export const OrderId = t.Object({ id: t.Integer() })
