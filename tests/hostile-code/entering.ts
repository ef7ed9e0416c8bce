/** Results and errors of the hook `authenticate`: a client may connect only if the hook returns `true`. */
import { UnauthenticatedError } from 'elysia-microservices'
import type { AuthenticationRequest } from 'elysia-microservices/tcp'
import fc from 'fast-check'
import { alright, type Case, type Ends, each } from './case.ts'
import { anyRecipe, make, RECIPES, type Recipe } from './recipes.ts'

/** Instructions for the hook, which the client sends as its token. */
interface Order {
  readonly recipe: Recipe
  readonly throws: boolean
}

/** The hook. A client without a token is well-behaved. */
export function authenticate({ credentials }: AuthenticationRequest): unknown {
  if (credentials?.type !== 'bearer') return true
  const { recipe, throws } = JSON.parse(credentials.token) as Order
  const made = make(recipe)
  if (throws) throw made
  return made
}

/** Tries to connect, and must only be told that the credentials are not accepted. */
async function refused(ends: Ends, order: Order): Promise<void> {
  const client = ends.connectAs(JSON.stringify(order))
  const answer = await client.request('echo', 1, { timeout: 20_000 }).catch((error: unknown) => error)
  await client.close()
  if (!(answer instanceof UnauthenticatedError)) throw new Error(`the caller got ${String(answer)}`)
  if (!answer.message.includes('The credentials are not accepted')) throw new Error(answer.message)
}

/** All cases of this file. */
export const entering: readonly Case[] = [false, true].map((throws) => ({
  name: `the hook authenticate ${throws ? 'throws' : 'gives'} anything`,
  on: (transport) => transport === 'RSocket',
  async run(ends, look) {
    await each(RECIPES, look, (recipe) => refused(ends, { recipe, throws }))
    await fc.assert(
      fc.asyncProperty(anyRecipe, async (recipe) => {
        await refused(ends, { recipe, throws })
        await alright(look, JSON.stringify(recipe))
      })
    )
  }
}))
