/** The form of a case of hostile code, and the checks that all of them share. */
import type { Microservice, TransportStats } from 'elysia-microservices'
import { RpcError } from 'elysia-microservices'
import type { ConnectOptions, UntypedClient } from 'elysia-microservices/client'
import { ENGINES } from '../engines/engines.ts'
import { SECRET } from './atoms.ts'
import type { Recipe } from './recipes.ts'

/** The transport of the calls: TCP in one of its protocols, or an engine by its title. */
export const TRANSPORT_NAMES: readonly TransportName[] = [
  'RSocket',
  "Nest's wire",
  ...ENGINES.map(({ title }) => title)
]
export type TransportName = 'RSocket' | "Nest's wire" | (string & {})

/** The parts that a case works with. */
export interface Ends {
  readonly transport: TransportName
  readonly service: Pick<Microservice, 'stop'>
  /** A client that must not suffer. */
  readonly good: UntypedClient
  /** Another client. */
  connect(options?: Omit<ConnectOptions, 'transport'>): UntypedClient
  /** One that shows a token, where connections have credentials. */
  connectAs(token: string): UntypedClient
  stats(): TransportStats
  /** Where the server has sent a secret since the last time; none where there is no wire. */
  found(): readonly string[]
  /** The lines that the service has logged since the last call. */
  logged(): readonly string[]
}

/** Looks at all that must be as it was before: gives what is not. */
export type Look = () => Promise<readonly string[]>

/** One of the things tried. */
export interface Case {
  readonly name: string
  /** Where it can be tried. Default: everywhere. */
  readonly on?: (transport: TransportName) => boolean
  run(ends: Ends, look: Look): Promise<void>
}

/** Milliseconds. Long enough for any machine: a call that takes longer hangs. */
export const TIMEOUT = 20_000

/** @throws {Error} it is no answer that a caller may get of hostile code */
export function checkAnswer(error: unknown): void {
  const isAnswer = error instanceof RpcError
  const text = isAnswer ? `${error.code} ${error.message} ${JSON.stringify(error.details)}` : String(error)
  if (!isAnswer || text.includes(SECRET)) throw new Error(`the caller got ${text}`)
}

/** @throws {Error} something is not as it was before */
export async function alright(look: Look, what: string): Promise<void> {
  const problems = await look()
  if (problems.length > 0) throw new Error([what, ...problems].join('\n'))
}

/** A part of what is tried: of so many recipes one at each place, beginning with a turn. */
export interface Share {
  readonly of: number
  readonly turn: number
}

let share: Share = { of: 1, turn: 0 }

/**
 * Leaves the other recipes to other transports. Together they try each recipe at each place: what comes of one is decided
 * before its answer gets to a transport, as good as always.
 */
export function takeShare(one: Share): void {
  share = one
}

/** Those that are tried at a place. */
export function shared(
  place: string,
  recipes: Readonly<Record<string, Recipe>>
): Readonly<Record<string, Recipe>> {
  const first = [...place].reduce((sum, character) => sum + character.charCodeAt(0), share.turn)
  return Object.fromEntries(Object.entries(recipes).filter((_, index) => (first + index) % share.of === 0))
}

/** Tries all of them, one after the other. @throws {Error} naming those that did harm */
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
