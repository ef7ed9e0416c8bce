/**
 * JetStream's messages for the outcome of a delivery. A consumer sends them to the reply subject of the delivered
 * message.
 */
import { bytesOf } from '../connection/bytes.ts'

/** The message is done. */
export const ACK = bytesOf('+ACK')
/** The message is still being handled. */
export const WORKING = bytesOf('+WPI')

/** The message is to be delivered again. @param delay milliseconds until then */
export function nak(delay: number): string {
  return delay === 0 ? '-NAK' : `-NAK {"delay":${Math.round(delay) * 1_000_000}}`
}
