/**
 * Where services tell the development command that they listen. Neither knows the other: the command loads a module into
 * each process, which puts a function under a name that both know. Elsewhere nobody hears, and nothing happens.
 */
import type { Address } from './transport.ts'

/** Announcement of a service that listens. */
export interface Announcement {
  /** Missing if it has no name. */
  readonly service: string | undefined
  readonly transports: readonly { readonly name: string; readonly address: Address | undefined }[]
}

/** The name of the function in the process. */
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
