/**
 * Lets services tell the development command that they listen. The two do not import each other: the command loads a
 * module into each process, and that module stores a function under a symbol that both know. Without the command there
 * is no such function, and nothing happens.
 */
import type { Address } from './transport.ts'

/** Tells that a service listens. */
export interface Announcement {
  /** The name of the service; `undefined` if the service has no name. */
  readonly service: string | undefined
  readonly transports: readonly { readonly name: string; readonly address: Address | undefined }[]
}

/** The symbol under which the process stores the function. */
export const ANNOUNCE: unique symbol = Symbol.for('elysia-microservices.announce')

type Announced = { [ANNOUNCE]?: (announcement: Announcement) => void }

/** Whether the development command has started this process. */
export function isInDevelopment(): boolean {
  return (globalThis as Announced)[ANNOUNCE] !== undefined
}

/** Tells the development command that a service listens. */
export function announce(announcement: Announcement): void {
  ;(globalThis as Announced)[ANNOUNCE]?.(announcement)
}
