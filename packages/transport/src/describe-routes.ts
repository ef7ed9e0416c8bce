/** The routes by which callers ask services for their descriptions. */

/**
 * Asks the service that gets the message: on a TCP or WebSocket connection the service at its other end, over an engine
 * any service.
 */
export const DESCRIBE_ROUTE = 'elysia-microservices.describe'

/**
 * The route that asks any instance of one service, or one instance of that service. A name is one segment of a pattern:
 * all characters except letters, digits, `-` and `_` are percent-encoded as in a URL (`shop.eu` becomes `shop%2Eeu`).
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
