/** Results and errors of hostile handlers: each caller gets an answer, and no other call is affected. */
import type { UntypedClient } from 'elysia-microservices/client'
import fc from 'fast-check'
import { alright, type Case, checkAnswer, type Ends, each, shared, TIMEOUT } from './case.ts'
import { anyRecipe, RECIPES, type Recipe } from './recipes.ts'
import { EVENTS, PLACES } from './service.ts'

/** Makes a call by `request` and by `stream`; each must get a value, or an error without internal information. */
async function ask(client: UntypedClient, pattern: string, recipe: Recipe): Promise<void> {
  await client.request(pattern, recipe, { timeout: TIMEOUT }).catch(checkAnswer)
  try {
    for await (const _ of client.stream(pattern, recipe, { timeout: TIMEOUT }));
  } catch (error) {
    checkAnswer(error)
  }
}

/** Reads one value and leaves; NestJS's protocol can only express this by closing the connection. */
async function leave(ends: Ends, pattern: string, recipe: Recipe): Promise<void> {
  const client = ends.connect()
  try {
    for await (const _ of client.stream(pattern, recipe, { timeout: TIMEOUT })) break
  } catch (error) {
    checkAnswer(error)
  }
  await client.close()
}

const inWords = (pattern: string): string => pattern.replaceAll('-', ' ')

const composed = Object.fromEntries(
  Object.entries(RECIPES).filter(([, recipe]) => typeof recipe === 'object')
)

const requests: readonly Case[] = PLACES.flatMap((pattern): Case[] => [
  {
    name: `${inWords(pattern)} what has gone wrong before`,
    run: ({ good }, look) => each(shared(pattern, RECIPES), look, (recipe) => ask(good, pattern, recipe))
  },
  {
    name: `${inWords(pattern)} a stream that is left`,
    run: (ends, look) => each(shared(pattern, composed), look, (recipe) => leave(ends, pattern, recipe))
  },
  {
    name: `${inWords(pattern)} anything`,
    run: ({ good }, look) =>
      fc.assert(
        fc.asyncProperty(anyRecipe, async (recipe) => {
          await ask(good, pattern, recipe)
          await alright(look, JSON.stringify(recipe))
        })
      )
  }
])

/** Some transports tell the sender of an event that it was refused. */
const events: readonly Case[] = EVENTS.map((pattern) => ({
  name: `${inWords(pattern)} anything`,
  async run({ good }, look) {
    await each(shared(pattern, RECIPES), look, (recipe) => good.emit(pattern, recipe).catch(checkAnswer))
    await fc.assert(
      fc.asyncProperty(anyRecipe, async (recipe) => {
        await good.emit(pattern, recipe).catch(checkAnswer)
        await alright(look, JSON.stringify(recipe))
      })
    )
  }
}))

const backwards: Case = {
  name: 'a service that answers at the client gives and throws anything',
  on: (transport) => transport === 'RSocket',
  async run({ good }, look) {
    for (const place of ['a-handler-gives', 'a-handler-throws', 'an-around-gives'])
      await each(RECIPES, look, (recipe) =>
        good.request('ask-back', [place, recipe], { timeout: TIMEOUT }).catch(checkAnswer)
      )
  }
}

/** All cases of this file. */
export const answering: readonly Case[] = [...requests, ...events, backwards]
