/** What the application is about. */
export interface Order {
  readonly id: number
  readonly customer: string
  readonly items: readonly { readonly article: string; readonly quantity: number }[]
}
