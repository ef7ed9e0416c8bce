/** What the programs of the shop are told by their environment. */

/** @throws {Error} it is not there */
export function given(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set; "npm start" sets it`)
  return value
}

/** Where a service listens, and where its callers find it. */
export const addressOf = (name: 'orders' | 'stock' | 'payments') => ({
  host: '127.0.0.1',
  port: Number(given(`${name.toUpperCase()}_PORT`))
})
