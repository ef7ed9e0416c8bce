/** A service or an engine that `dev` runs, as the page knows it. */
import type { Log } from './log.ts'

/** A wish of the page. */
export type Action = 'start' | 'stop' | 'restart'

/** A program, as the page shows it. */
export interface ProgramView {
  readonly name: string
  readonly state: 'starting' | 'ready' | 'crashed' | 'broken' | 'ended' | 'stopped'
  /** Why it does not run, in words. */
  readonly problem?: string
  readonly pid?: number
  /** The ports, with what they are for. */
  readonly ports: readonly string[]
  /** How often it was started. */
  readonly starts: number
  /** When it has come into this state, in milliseconds since 1970. */
  readonly since: number
  /** The names of the services in it. */
  readonly services: readonly string[]
}

/** A program that the page can stop and start. */
export interface Program {
  readonly name: string
  readonly log: Log
  view(): ProgramView
  /** The environment variables that it was given, beside those of the user's own shell. */
  environment(): readonly (readonly [name: string, value: string])[]
  act(action: Action): void
}
