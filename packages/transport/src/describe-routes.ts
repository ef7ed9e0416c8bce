/** The routes under which services describe themselves to callers. */

/** The service that gets the message: on a connection of its own that is one service, over an engine any of them. */
export const DESCRIBE_ROUTE = 'elysia-microservices.describe'

/**
 * The route that asks any instance of one service, or one instance of it. A name is one segment of a pattern: all of it
 * but letters, digits, `-` and `_` is written as in a URL (`shop.eu` as `shop%2Eeu`).
 */
export function describeRoute(service: string, instance?: string): string {
  const ofService = `${DESCRIBE_ROUTE}.${segment(service)}`
  return instance === undefined ? ofService : `${ofService}.${segment(instance)}`
}

const PLAIN = /[A-Za-z0-9_-]/

function segment(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte)
    return PLAIN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}
