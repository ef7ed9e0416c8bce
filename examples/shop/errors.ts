/** Errors that several services have in their contracts. */
import { t } from 'elysia'

/** Fewer articles are left than were ordered. */
export const OUT_OF_STOCK = { details: t.Object({ left: t.Integer() }), status: 409 }
