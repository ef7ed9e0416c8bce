/** JetStream's words for the outcome of a delivery: a consumer sends them to the reply subject of the message. */
import { bytesOf } from '../connection/bytes.ts'

/** It is done. */
export const ACK = bytesOf('+ACK')
/** It is being worked on. */
export const WORKING = bytesOf('+WPI')

/** It is to be delivered again. @param delay milliseconds until then */
export function nak(delay: number): string {
  return delay === 0 ? '-NAK' : `-NAK {"delay":${Math.round(delay) * 1_000_000}}`
}
