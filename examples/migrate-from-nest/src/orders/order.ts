/** An order of a customer. */
export interface Order {
  readonly id: number
  readonly customer: string
  readonly items: readonly { readonly article: string; readonly quantity: number }[]
  readonly shipped: boolean
}

/** The reason why an order cannot be placed or found. A filter sends the code to the caller. */
export class OrderError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
