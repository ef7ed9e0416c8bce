/** An order of the shop. */
export interface Order {
  readonly id: number
  readonly customer: string
  readonly items: readonly { readonly article: string; readonly quantity: number }[]
  readonly shipped: boolean
}

/** Why an order cannot be placed or found: for the caller, by the filter. */
export class OrderError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
