/**
 * The class `WebSocket` of the runtime, or of the package `ws` on Node 20, which has none. Deno's server refuses `ws`,
 * which offers several subprotocols without blanks between them.
 */
import { WebSocket as OfPackage } from 'ws'

const { WebSocket: own } = globalThis as { readonly WebSocket?: unknown }
export const WebSocket = (own ?? OfPackage) as typeof OfPackage
