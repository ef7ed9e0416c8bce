/** Errors that several services have in their contracts. */
import { t } from 'elysia'

/** There is less than was ordered. */
export const OUT_OF_STOCK = { details: t.Object({ left: t.Integer() }), status: 409 }
