/** The form of a case of hostile code, and the checks that all of them share. */
import type { Microservice } from 'elysia-microservices'
import { RpcError } from 'elysia-microservices'
import type { ConnectOptions, UntypedClient } from 'elysia-microservices/client'
import type { TransportStats } from 'elysia-microservices/describe'
import { ENGINES } from '../engines/engines.ts'
import { SECRET } from './atoms.ts'
import type { Recipe } from './recipes.ts'

/** The transports whose sockets are the runtime's: TCP in one of its protocols, gRPC. */
export const ON_SOCKETS = ['RSocket', "Nest's wire", 'gRPC'] as const
/** The transport of the calls: one on sockets, or an engine by its title. */
export const TRANSPORT_NAMES: readonly TransportName[] = [...ON_SOCKETS, ...ENGINES.map(({ title }) => title)]
export type TransportName = (typeof ON_SOCKETS)[number] | (string & {})

/** The clients and the service that a case uses. */
export interface Ends {
  readonly transport: TransportName
  readonly service: Pick<Microservice, 'stop'>
  /** A client whose calls must not be affected. */
  readonly good: UntypedClient
  /** Creates another client. */
  connect(options?: Omit<ConnectOptions, 'transport'>): UntypedClient
  /** Creates a client with a token, if connections have credentials. */
  connectAs(token: string): UntypedClient
  stats(): TransportStats
  /**
   * The places where the server has sent a secret since the last call of this function; always empty for a transport
   * without bytes.
   */
  found(): readonly string[]
  /** The lines that the service has logged since the last call. */
  logged(): readonly string[]
}

/** Checks that everything is as it was before, and returns the problems. */
export type Look = () => Promise<readonly string[]>

/** One case of hostile code. */
export interface Case {
  readonly name: string
  /** The transports on which the case can be tried. Default: all. */
  readonly on?: (transport: TransportName) => boolean
  run(ends: Ends, look: Look): Promise<void>
}

/** Milliseconds that are enough on any machine: a call that takes longer hangs. */
export const TIMEOUT = 20_000

/** @throws {Error} the error is not an answer that a caller of hostile code may get */
export function checkAnswer(error: unknown): void {
  const isAnswer = error instanceof RpcError
  const text = isAnswer ? `${error.code} ${error.message} ${JSON.stringify(error.details)}` : String(error)
  if (!isAnswer || text.includes(SECRET)) throw new Error(`the caller got ${text}`)
}

/** @throws {Error} the service or the client is not as it was before the case */
export async function alright(look: Look, what: string): Promise<void> {
  const problems = await look()
  if (problems.length > 0) throw new Error([what, ...problems].join('\n'))
}

/** A share of the recipes: at each place only every `of`-th recipe is tried, beginning with number `turn`. */
export interface Share {
  readonly of: number
  readonly turn: number
}

let share: Share = { of: 1, turn: 0 }

/**
 * Leaves the other recipes to other transports, or to the night: the result of a recipe is nearly always decided before
 * its answer reaches a transport.
 */
export function takeShare(one: Share): void {
  share = one
}

/** The recipes that are tried at a place. */
export function shared(
  place: string,
  recipes: Readonly<Record<string, Recipe>>
): Readonly<Record<string, Recipe>> {
  const first = [...place].reduce((sum, character) => sum + character.charCodeAt(0), share.turn)
  return Object.fromEntries(Object.entries(recipes).filter((_, index) => (first + index) % share.of === 0))
}

/** Tries all recipes, one after the other. @throws {Error} some did harm; the message names them */
export async function each(
  recipes: Readonly<Record<string, Recipe>>,
  look: Look,
  attempt: (recipe: Recipe) => Promise<unknown>
): Promise<void> {
  for (const [name, recipe] of Object.entries(recipes)) {
    await attempt(recipe).catch((error: unknown) => {
      throw new Error(`${name}: ${String(error)}`)
    })
    await alright(look, name)
  }
}
