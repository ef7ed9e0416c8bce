/** What can be measured and who can ask: one row per target, one per client. A new peer is a row here. */
import type { OpenEchoClient } from './echo-client.ts'

export const targetNames = ['elysia', 'nest'] as const
export type TargetName = (typeof targetNames)[number]

export const clientNames = ['elysia', 'nest', 'raw'] as const
export type ClientName = (typeof clientNames)[number]

export interface Target {
  /** Where its server listens unless told otherwise. */
  readonly port: number
  /** Its server, started by the bench or by hand; path without extension, below the bench's folder. */
  readonly server: string
  /** The client its users have. */
  readonly client: Exclude<ClientName, 'raw'>
}

export const targets: Readonly<Record<TargetName, Target>> = {
  elysia: { port: 7001, server: 'servers/elysia', client: 'elysia' },
  nest: { port: 7002, server: 'servers/nest', client: 'nest' }
}

/** Loaded on use, so that nothing of one peer runs in the process that measures the other. */
export const echoClients: Readonly<Record<Exclude<ClientName, 'raw'>, () => Promise<OpenEchoClient>>> = {
  elysia: async () => (await import('./elysia-client.ts')).openEchoClient,
  nest: async () => (await import('./nest-client.ts')).openEchoClient
}
