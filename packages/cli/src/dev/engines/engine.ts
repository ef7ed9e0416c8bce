/**
 * The interface of an engine for `dev`: the packages that need it, and how it is found, fetched, started and probed.
 */
import type { EngineName } from '../config.ts'
import type { Start } from '../process-group.ts'

/** An engine. */
export interface Engine {
  readonly name: EngineName
  /** Its name as `dev` prints it, such as `RabbitMQ`. */
  readonly title: string
  /** The variable that tells services where it is. A user who sets it has an engine already. */
  readonly variable: string
  readonly port: number
  /** Packages of which each says that the engine is needed. */
  readonly neededBy: readonly string[]
  /** Advice on how to install it. */
  readonly install: string
  /** Whether services find it at its usual port by themselves, without the variable. */
  readonly isFoundByPort: boolean
  /** Its urls name users, whom `dev` does not know: services keep the url they have. */
  readonly hasUsers?: true
  url(port: number): string
  /** Asks who listens there. */
  probe(host: string, port: number): Promise<Probed>
  /** The program, or the folder of its programs; `undefined`: it is not on this machine. */
  find(root: string, folders: readonly string[]): string | undefined
  /** Ways to fetch the program, so that `find` finds it: each is tried until one can. */
  readonly fetch?: readonly Fetch[]
  /** Its program and arguments. */
  start(init: EngineStart): Promise<Start>
}

/**
 * Fetches a program.
 * @returns `false`: this machine has nothing to fetch it with
 * @throws {Error} it could not be fetched
 */
export type Fetch = (fetching: Fetching) => Promise<boolean>

/** Where a program is fetched to. */
export interface Fetching {
  /** The folder of all programs that were fetched. */
  readonly folder: string
  /** Says what is fetched, before that. */
  say(text: string): void
  /** Is aborted when nobody wants it any longer. */
  readonly signal: AbortSignal
}

/** The argument of `Engine.start`. */
export interface EngineStart {
  readonly root: string
  /** The result of `find`. */
  readonly found: string
  readonly port: number
  /** The folder of its data. */
  readonly folder: string
}

/** The listener on a port: the engine, another program, or nobody. */
export type Probed = 'engine' | 'stranger' | 'nobody'
