/** Sample values of services. ASCII only, no `null`, no empty fields, so that every peer can carry them unchanged. */

interface Address {
  readonly street: string
  readonly city: string
  readonly postcode: string
  readonly country: string
}

interface Item {
  readonly sku: string
  readonly title: string
  readonly quantity: number
  readonly price: number
  readonly gift: boolean
  readonly tags: readonly string[]
}

export interface Order {
  readonly id: string
  readonly number: number
  readonly placedAt: string
  readonly currency: string
  readonly total: number
  readonly paid: boolean
  readonly customer: {
    readonly id: number
    readonly name: string
    readonly email: string
    readonly vip: boolean
    readonly address: Address
  }
  readonly items: readonly Item[]
  readonly note: string
}

/** A short form of an order, as one service sends it to another. */
export interface OrderSummary {
  readonly id: string
  readonly number: number
  readonly placedAt: string
  readonly currency: string
  readonly total: number
  readonly paid: boolean
  readonly customer: { readonly id: number; readonly name: string; readonly vip: boolean }
  readonly items: readonly Pick<Item, 'sku' | 'quantity' | 'price'>[]
}

export interface Row {
  readonly id: number
  readonly name: string
  readonly active: boolean
  readonly score: number
}

/** A value of a stream: as small as objects of which services send many. */
export interface SmallRecord {
  readonly id: number
  readonly name: string
  readonly ok: boolean
}

/** About 40 B as JSON. */
export const makeRecord = (id: number): SmallRecord => ({ id, name: 'a record', ok: true })

/** About 250 B as JSON, similar to the string of 200 B. */
export const makeOrderSummary = (): OrderSummary => ({
  id: '8c0f2b7e-41d5-4c7a-9a35',
  number: 2_048_117,
  placedAt: '2026-03-14T15:09:26.535Z',
  currency: 'EUR',
  total: 119.9,
  paid: true,
  customer: { id: 48_213, name: 'Ada Lovelace', vip: true },
  items: [{ sku: 'KB-104-DE', quantity: 1, price: 119.9 }]
})

/** About 1 KB as JSON. */
export const makeOrder = (): Order => ({
  id: '8c0f2b7e-41d5-4c7a-9a35-6f0f2f0a9d11',
  number: 2_048_117,
  placedAt: '2026-03-14T15:09:26.535Z',
  currency: 'EUR',
  total: 214.35,
  paid: true,
  customer: {
    id: 48_213,
    name: 'Ada Lovelace',
    email: 'ada.lovelace@example.com',
    vip: true,
    address: {
      street: '12 St James Square',
      city: 'London',
      postcode: 'SW1Y 4JH',
      country: 'GB'
    }
  },
  items: [
    item('KB-104-DE', 'Mechanical keyboard, 104 keys', 1, 119.9, false, ['hardware', 'input', 'office']),
    item('CB-USBC-2M', 'USB-C cable, 2 m', 3, 9.95, false, ['hardware', 'cable']),
    item('BK-AN-1843', 'Notes on the Analytical Engine', 1, 34.6, true, ['book', 'history']),
    item('MP-XL-900', 'Mouse pad, 900 x 400 mm', 1, 19.5, false, ['hardware', 'office']),
    item('ST-LOG-010', 'Stickers, set of 10', 2, 5.25, true, ['fun'])
  ],
  note: 'Please leave the parcel with the neighbours on the second floor if nobody answers the door.'
})

export const makeRows = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    name: `row ${index + 1}`,
    active: index % 3 !== 0,
    score: index + 0.5
  }))

const item = (
  sku: string,
  title: string,
  quantity: number,
  price: number,
  gift: boolean,
  tags: readonly string[]
): Item => ({ sku, title, quantity, price, gift, tags })
