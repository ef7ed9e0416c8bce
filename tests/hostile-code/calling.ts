/**
 * Hostile code on the calling side: in data that is sent, in middleware around calls, and in listeners of a client.
 */
import assert from 'node:assert/strict'
import { MicroserviceError, TimeoutError } from 'elysia-microservices'
import fc from 'fast-check'
import { alright, type Case, each, type Look, TIMEOUT } from './case.ts'
import { ENDLESS, endlessOf, living } from './endless.ts'
import { anyRecipe, make, RECIPES, type Recipe } from './recipes.ts'

/** @throws {Error} a call has hung, or was ended for a reason that does not apply */
function checkSettled(error: unknown): void {
  let isLate = false
  try {
    isLate = error instanceof TimeoutError
  } catch {}
  if (isLate) throw new Error('the call hung')
}

/** @throws {Error} a value is not an error of this library */
function checkTyped(error: unknown): void {
  checkSettled(error)
  let isTyped = false
  try {
    isTyped = error instanceof MicroserviceError
  } catch {}
  if (!isTyped) throw new Error(`the call failed with ${describe(error)}`)
}

function describe(error: unknown): string {
  try {
    return String(error)
  } catch {
    return 'what cannot be shown'
  }
}

const STREAMS = ['generator', 'asyncGenerator', 'observable', 'iterator', 'asyncIterator']
/** Values that look like streams, and fail with errors of their own. */
const SEEM_STREAMS: readonly Recipe[] = [
  'a Proxy that has every member',
  'a subscribe that can be read once',
  'a Symbol.asyncIterator that cannot be read'
]
const isStream = (recipe: Recipe) => typeof recipe === 'object' && STREAMS.some((kind) => kind in recipe)
const pick = (wanted: (recipe: Recipe) => boolean) =>
  Object.fromEntries(Object.entries(RECIPES).filter(([, recipe]) => wanted(recipe)))

const sources: readonly Case[] = [
  {
    name: 'values of a channel, and how they end, are anything',
    async run({ good }, look) {
      const send = async (recipe: Recipe) => {
        await good.request('read-all', make(recipe), { timeout: TIMEOUT }).catch(checkSettled)
        try {
          for await (const _ of good.stream('read-some', make(recipe), { timeout: TIMEOUT }));
        } catch (error) {
          checkSettled(error)
        }
      }
      await each(pick(isStream), look, send)
      await fc.assert(
        fc.asyncProperty(anyRecipe.filter(isStream), async (recipe) => {
          await send(recipe)
          await alright(look, JSON.stringify(recipe))
        })
      )
    }
  },
  ...[
    'a server that cuts the connection',
    'the close of the client',
    'an answer',
    'a deadline',
    'its signal'
  ].map(
    (way): Case => ({
      name: `endless channels whose clean-up fails are ended by ${way}`,
      on: (transport) =>
        transport === 'RSocket' || (!way.startsWith('a server') && transport !== "Nest's wire"),
      async run(ends, look) {
        for (const kind of ENDLESS)
          for (const teardown of [undefined, 'an error', 'a revoked Proxy', { rejection: 'an error' }]) {
            const client = ends.connect()
            // A stream that was never read, because its call ended while the client was connecting, has no clean-up
            // to run.
            await client.connect()
            const abort = new AbortController()
            const pattern = way === 'an answer' ? 'read-one' : 'read-all'
            const options = { timeout: way === 'a deadline' ? 30 : TIMEOUT, signal: abort.signal }
            const call = client.request(pattern, endlessOf(kind, teardown), options)
            const settled = call.then(
              () => 'answered',
              () => 'failed'
            )
            await client.request('echo', 1)
            if (way.startsWith('a server')) await client.request('cut-me-off', null).catch(() => {})
            else if (way === 'the close of the client') await client.close()
            else if (way === 'its signal') abort.abort()
            assert.equal(await settled, way === 'an answer' ? 'answered' : 'failed')
            await alright(look, `${kind}, ${JSON.stringify(teardown)}`)
            assert.equal(living.size, 0)
            await client.close()
          }
      }
    })
  )
]

async function tried(look: Look, attempt: () => Promise<unknown>, what: string): Promise<void> {
  let call: Promise<unknown>
  try {
    call = attempt()
  } catch (error) {
    throw new Error(`${what}: thrown, not rejected: ${describe(error)}`)
  }
  await call.catch((error: unknown) => {
    try {
      checkTyped(error)
    } catch (wrong) {
      throw new Error(`${what}: ${(wrong as Error).message}`)
    }
  })
  await alright(look, what)
}

const OPTIONS: readonly (readonly [string, () => unknown])[] = [
  ['no signal', () => ({ signal: null })],
  ['a signal that is none', () => ({ signal: {} })],
  ['a signal that is a text', () => ({ signal: 'now' })],
  [
    'a signal that throws',
    () => ({ signal: { aborted: false, addEventListener: () => make({ generator: [] }) } })
  ],
  [
    'a signal that cannot be listened to',
    () => ({
      signal: {
        aborted: false,
        addEventListener() {
          throw new Error('no')
        }
      }
    })
  ],
  [
    'a signal that cannot be left',
    () => ({
      signal: {
        aborted: false,
        addEventListener() {},
        removeEventListener() {
          throw new Error('no')
        }
      }
    })
  ],
  ['a bigint as timeout', () => ({ timeout: 1n })],
  ['NaN as timeout', () => ({ timeout: Number.NaN })],
  ['a negative timeout', () => ({ timeout: -1 })],
  ['headers that are null', () => ({ headers: null })],
  ['headers that are no texts', () => ({ headers: { a: 1 } })],
  ['headers that cannot be read', () => ({ headers: make('a member that cannot be read') })],
  ['headers that are revoked', () => ({ headers: make('a revoked Proxy') })],
  ['no options', () => null],
  ['options that are a text', () => 'fast'],
  ['options that are revoked', () => make('a revoked Proxy')],
  ['options whose traps throw', () => make('a Proxy whose traps throw')]
]

/** All cases of this file. */
export const calling: readonly Case[] = [
  ...sources,
  {
    name: 'data of a call are anything',
    async run({ good }, look) {
      for (const [name, recipe] of Object.entries(
        pick((one) => !isStream(one) && !SEEM_STREAMS.includes(one))
      )) {
        await tried(look, () => good.request('echo', make(recipe), { timeout: TIMEOUT }), `request, ${name}`)
        await tried(look, () => good.emit('an-event-gives', make(recipe)), `emit, ${name}`)
        await tried(
          look,
          () => good.stream('echo', make(recipe), { timeout: TIMEOUT }).next(),
          `stream, ${name}`
        )
      }
    }
  },
  {
    name: 'options of a call are anything',
    async run({ good }, look) {
      for (const [name, options] of OPTIONS) {
        await tried(look, () => good.request('echo', 1, options() as never), `request, ${name}`)
        await tried(look, () => good.emit('an-event-gives', 'null', options() as never), `emit, ${name}`)
        await tried(look, () => good.stream('echo', 1, options() as never).next(), `stream, ${name}`)
      }
    }
  },
  {
    name: 'a pattern is anything',
    async run({ good }, looked) {
      // The caller of a pattern without a handler is told by an error that names the pattern; of an event, later.
      const look = async () => (await looked()).filter((problem) => !problem.startsWith('on the wire'))
      for (const [name, recipe] of Object.entries(RECIPES)) {
        const pattern = () => make(recipe) as string
        await tried(look, () => good.request(pattern(), 1, { timeout: TIMEOUT }), `request, ${name}`)
        await tried(look, () => good.emit(pattern(), 1), `emit, ${name}`)
        await tried(look, () => good.stream(pattern(), 1, { timeout: TIMEOUT }).next(), `stream, ${name}`)
      }
    }
  },
  {
    name: 'what stands around calls gives and throws anything',
    async run(ends, look) {
      const middleware = { recipe: 'a text' as Recipe, throws: false }
      const client = ends.connect({
        wrap: [
          () => () => {
            const made = make(middleware.recipe)
            if (middleware.throws) throw made
            return made
          }
        ]
      })
      for (middleware.throws of [false, true])
        await each(RECIPES, look, async (recipe) => {
          middleware.recipe = recipe
          await client.request('echo', 1).catch(checkSettled)
          await client.emit('an-event-gives', 'null').catch(checkSettled)
          try {
            for await (const _ of client.stream('echo', 1));
          } catch (error) {
            checkSettled(error)
          }
        })
      await client.close()
    }
  },
  {
    name: 'listeners of a client throw and reject',
    async run(ends, look) {
      for (const recipe of [
        'an error',
        'a revoked Proxy',
        { thenable: [['throw', 'an error']] }
      ] as Recipe[]) {
        const told: string[] = []
        const client = ends.connect({
          onStatus() {
            throw make(recipe)
          }
        })
        client.onStatus(async () => {
          throw make(recipe)
        })
        client.onStatus(() => make(recipe) as undefined)
        client.onStatus(({ type }) => void told.push(type))
        assert.equal(await client.request('echo', 1), 1)
        await client.close()
        assert.ok(told.length > 0)
        await alright(look, JSON.stringify(recipe))
      }
    }
  }
]
