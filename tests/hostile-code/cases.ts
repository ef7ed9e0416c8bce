/** What is tried, with what must come of it. */

import type { Microservice, TransportStats } from 'elysia-microservices'
import { RpcError } from 'elysia-microservices'
import type { ConnectOptions, UntypedClient } from 'elysia-microservices/client'
import fc from 'fast-check'
import { anyRecipe, RECIPES, type Recipe, SECRET } from './recipes.ts'
import { EVENTS, PLACES } from './service.ts'

/** What carries the calls. */
export const TRANSPORT_NAMES = ['RSocket', "Nest's wire", 'memory'] as const
export type TransportName = (typeof TRANSPORT_NAMES)[number]

/** What a case works with. */
export interface Ends {
  readonly transport: TransportName
  readonly service: Pick<Microservice, 'stop'>
  /** A client that must not suffer. */
  readonly good: UntypedClient
  /** Another client. */
  connect(options?: Omit<ConnectOptions, 'transport'>): UntypedClient
  stats(): TransportStats
  /** What the server has sent since the last time; empty where there is no wire. */
  taken(): string
}

/** One of the things tried. */
export interface Case {
  readonly name: string
  /** @param look gives what is not as it was before */
  run(ends: Ends, look: () => Promise<string[]>): Promise<void>
}

/** Long enough for any machine: a call that takes longer hangs. */
const TIMEOUT = Number(process.env['DEV_TIMEOUT'] ?? 20_000)

/** @throws {Error} it is no answer that a caller may get of hostile code */
function checkError(error: unknown): void {
  const isAnswer = error instanceof RpcError
  const text = isAnswer ? `${error.code} ${error.message} ${JSON.stringify(error.details)}` : String(error)
  if (!isAnswer || text.includes(SECRET)) throw new Error(`the caller got ${text}`)
}

/** Asks, in both ways; a value, or an error that says nothing, must come of it. */
async function ask(client: UntypedClient, pattern: string, recipe: Recipe): Promise<void> {
  try {
    await client.request(pattern, recipe, { timeout: TIMEOUT })
  } catch (error) {
    checkError(error)
  }
  try {
    for await (const _ of client.stream(pattern, recipe, { timeout: TIMEOUT }));
  } catch (error) {
    checkError(error)
  }
}

/** Reads one value and leaves; Nest's wire can say so only by closing its connection. */
async function leave(ends: Ends, pattern: string, recipe: Recipe): Promise<void> {
  const client = ends.connect()
  try {
    for await (const _ of client.stream(pattern, recipe, { timeout: TIMEOUT })) break
  } catch (error) {
    checkError(error)
  }
  await client.close()
}

async function alright(look: () => Promise<string[]>, what: string): Promise<void> {
  const problems = await look()
  if (problems.length > 0) throw new Error([what, ...problems].join('\n'))
}

const places: readonly Case[] = PLACES.flatMap((pattern): Case[] => [
  {
    name: `${pattern} what has gone wrong before`,
    async run({ good }, look) {
      for (const [name, recipe] of Object.entries(RECIPES)) {
        await ask(good, pattern, recipe).catch((error: Error) => {
          throw new Error(`${name}: ${error.message}`)
        })
        await alright(look, name)
      }
    }
  },
  {
    name: `${pattern} anything`,
    async run({ good }, look) {
      await fc.assert(
        fc.asyncProperty(anyRecipe, async (recipe) => {
          await ask(good, pattern, recipe)
          await alright(look, JSON.stringify(recipe))
        })
      )
    }
  }
])

const leaving: readonly Case[] = PLACES.map((pattern) => ({
  name: `${pattern} a stream that is left`,
  async run(ends, look) {
    for (const [name, recipe] of Object.entries(RECIPES)) {
      if (typeof recipe === 'string') continue
      await leave(ends, pattern, recipe)
      await alright(look, name)
    }
  }
}))

const events: readonly Case[] = EVENTS.map((pattern) => ({
  name: `${pattern} anything`,
  async run({ good }, look) {
    for (const [name, recipe] of Object.entries(RECIPES)) {
      await good.emit(pattern, recipe)
      await alright(look, name)
    }
    await fc.assert(
      fc.asyncProperty(anyRecipe, async (recipe) => {
        await good.emit(pattern, recipe)
        await alright(look, JSON.stringify(recipe))
      })
    )
  }
}))

export const CASES: readonly Case[] = [...places, ...leaving, ...events]
