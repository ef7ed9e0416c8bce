/** The answers of every server of the suites: the same texts and objects for all frameworks. */

export const HELLO = 'Hello, World!'

export const health = () => ({ status: 'ok', uptime: 86_400, version: '1.0.0' })

export const userOf = (id: string) => ({ id, name: `User ${id}`, email: `user${id}@example.com` })

export interface NewUser {
  readonly name: string
  readonly email: string
}

export const createdOf = ({ name, email }: NewUser) => ({ id: '1001', name, email })

/** 8 KB as JSON, which can be compressed to about a tenth. */
export const DOCUMENT = {
  title: 'Orders of the day',
  orders: Array.from({ length: 85 }, (_, index) => ({
    id: index + 1,
    customer: `Customer ${(index * 7919) % 1000}`,
    city: ['Rome', 'Oslo', 'Lima', 'Cairo', 'Delhi'][index % 5]!,
    total: ((index * 104_729) % 100_000) / 100,
    items: [(index * 31) % 97, (index * 17) % 89, (index * 13) % 83],
    paid: index % 3 !== 0
  }))
}

/** One of 500 routes: the beginning of its path, and its kind. */
export interface Route {
  readonly kind: 'static' | 'param' | 'wildcard'
  /**
   * `/shop12/orders/list`; with a parameter, the part before `/:id/detail`; with a wildcard, the part before the
   * wildcard.
   */
  readonly prefix: string
  readonly name: string
}

const ROUTES = 500

/** Three of five routes are static, one has a parameter, one ends in a wildcard. */
export const routes: readonly Route[] = Array.from({ length: ROUTES }, (_, index): Route => {
  const name = `r${index}`
  const area = `/shop${index % 25}`
  if (index % 5 === 3) return { kind: 'param', prefix: `${area}/orders${index}`, name }
  if (index % 5 === 4) return { kind: 'wildcard', prefix: `${area}/files${index}`, name }
  return { kind: 'static', prefix: `${area}/pages/${name}/list`, name }
})

/** The path in the form of most routers. `rest` is how the wildcard is written. */
export function pathOf({ kind, prefix }: Route, rest = '*'): string {
  if (kind === 'static') return prefix
  return kind === 'param' ? `${prefix}/:id/detail` : `${prefix}/${rest}`
}

/** The answer of a route; only a route with a parameter has an `id`. */
export const answerOf = ({ kind, name }: Route, id: string | undefined): string =>
  kind === 'param' ? `${name} ${id}` : name

/** A row of the table `users`. */
export interface User {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly city: string
}
